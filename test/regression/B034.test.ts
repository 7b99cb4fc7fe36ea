// B034: bursts ended in an opaque "timeout waiting for a client" although the server was idle; leaked leases stayed invisible.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AcquireTimeoutError } from '../../src/index.js'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

describe('all leases are out', () => {
  it('the error tells who has them, a leak is reported with where it was taken, and the next live waiter is served', async (t) => {
    const world = await fakeWorld(t, { leakWarningMs: 100, pool: { min: 0, max: 2, acquireTimeoutMs: 300 } })
    const leak = nextEvent(world.pool, 'lease-leak', { timeoutMs: 3_000 })
    const forgotten = await world.pool.acquire(world.key)
    const other = await world.pool.acquire(world.key)
    await assert.rejects(world.pool.acquire(world.key), (error: AcquireTimeoutError) => {
      assert.deepEqual([error.code, error.shard], ['ACQUIRE_TIMEOUT', 'cache-a'])
      const { size, idle, borrowed, pending, oldestLeaseMs } = error.picture
      assert.deepEqual({ size, idle, borrowed, pending }, { size: 2, idle: 0, borrowed: 2, pending: 0 })
      assert.ok(oldestLeaseMs >= 250)
      return true
    })
    assert.match(String((await leak).stack), /B034\.test/)
    const waiting = world.pool.acquire(world.key)
    await other.release()
    const served = await waiting
    await served.release()
    await forgotten.release()
    assert.equal(world.pool.stats().shards[0]!.leases.pending, 0)
  })

  it('a hundred at once share two, in their order', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 0, max: 2 } })
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        world.pool.use(world.key, async (client) => {
          order.push(i)
          await client.get(world.key)
        }),
      ),
    )
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    )
  })
})
