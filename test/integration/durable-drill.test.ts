import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { durableDrill } from '../soak/drill.js'

describe('durable writes, over kill -9 failovers', () => {
  it('are all there after each; how many ordinary ones are not is told, and hangs on luck', {
    timeout: 110_000,
  }, async (t) => {
    const report = await durableDrill(2, (line) => t.diagnostic(line))
    assert.ok(report.withReplicaAck.acknowledged > 100)
    assert.equal(report.withReplicaAck.lost, 0)
  })
})
