import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { complaints, type SoakReport, soak } from '../soak/soak.js'

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

it('a soak complains of each figure that must not be, and of nothing else', () => {
  const good: SoakReport = {
    seed: 1,
    seconds: 1,
    faults: {},
    writes: 10,
    acknowledged: 9,
    reads: 10,
    failovers: 1,
    lost: [],
    lostWithOldMaster: 1,
    doubled: [],
    hung: 0,
    overdueMs: [],
    wrongReplies: 0,
    errors: { CONNECTION_LOST: 1 },
    heapMb: { before: 20, after: 21 },
    socketsLeft: 0,
    handles: { before: {}, after: {} },
  }
  assert.deepEqual(complaints(good), [])
  const bad: readonly Partial<SoakReport>[] = [
    { lost: ['key'] },
    { doubled: ['key'] },
    { hung: 1 },
    { overdueMs: [3_000] },
    { wrongReplies: 1 },
    { heapMb: { before: 20, after: 120 } },
    { socketsLeft: 1 },
  ]
  for (const one of bad) assert.equal(complaints({ ...good, ...one }).length, 1, JSON.stringify(one))
})
