import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TopologyError } from '../../../src/testing/topology-error.js'
import { waitUntil } from '../../../src/testing/wait.js'

describe('waitUntil', () => {
  it('looks again until the state is there, through servers that do not answer', async () => {
    let looks = 0
    const value = await waitUntil({ what: 'it', timeoutMs: 1_000, intervalMs: 1 }, async () => {
      looks++
      if (looks === 1) throw new TopologyError('NOT_CONNECTED', 'not up yet')
      return looks < 3 ? { missing: 'one more' } : { ready: 'done' }
    })
    assert.equal(value, 'done')
    assert.equal(looks, 3)
  })

  it('ends at its bound, with what was seen last and the evidence', async () => {
    const settings = { what: 'the moon', timeoutMs: 20, intervalMs: 1, evidence: () => 'the log' }
    await assert.rejects(
      waitUntil(settings, async () => ({ missing: 'only stars' })),
      (error: unknown) => {
        assert.ok(error instanceof TopologyError)
        assert.equal(error.code, 'WAIT_TIMEOUT')
        assert.equal(error.message, 'waited 20 ms for the moon; last seen: only stars\nthe log')
        return true
      },
    )
  })

  it('does not wait through a server that ended, nor through a mistake', async () => {
    const settings = { what: 'it', timeoutMs: 1_000 }
    const ended = new TopologyError('START_FAILED', 'it ended')
    await assert.rejects(
      waitUntil(settings, () => Promise.reject(ended)),
      ended,
    )
    await assert.rejects(
      waitUntil(settings, () => Promise.reject(new RangeError('a mistake'))),
      RangeError,
    )
  })

  it('stops with the reason of its signal', async () => {
    const reason = new Error('enough')
    const waiting = waitUntil({ what: 'it', timeoutMs: 1_000, signal: AbortSignal.abort(reason) }, async () => ({
      missing: 'all',
    }))
    await assert.rejects(waiting, reason)
  })
})
