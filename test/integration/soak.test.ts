import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { complaints, soak } from '../soak/soak.js'

const minutes = Number(process.env.SOAK_MINUTES ?? 0.25)

describe('a soak on real servers, with a fault every few seconds', () => {
  const timeout = minutes * 60_000 + 90_000
  it('loses nothing after a switch, doubles nothing, hangs nowhere, leaves no socket', { timeout }, async (t) => {
    const report = await soak(minutes * 60, 1, (line) => t.diagnostic(line))
    t.diagnostic(JSON.stringify(report))
    assert.ok(report.acknowledged > 100)
    assert.deepEqual(complaints(report), [])
  })
})
