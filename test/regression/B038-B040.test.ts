// B038: idle and min/max settings did nothing, or overshot. B040: a cold burst grabbed leases that never came back.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('sizes', () => {
  it('B038: never above max in a burst, down to min by idleTimeoutMs alone', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 1, max: 4, idleTimeoutMs: 500 } })
    let peak = 0
    const sampling = setInterval(() => {
      peak = Math.max(peak, world.pool.stats().shards[0]!.leases.size)
    }, 1)
    t.after(() => clearInterval(sampling))
    await Promise.all(Array.from({ length: 50 }, () => world.pool.use(world.key, (client) => client.get(world.key))))
    assert.ok(peak <= 4, `${peak}`)
    await until('the shrink', () => world.pool.stats().shards[0]!.leases.size === 1, 5_000)
  })

  it('B038: contradictions are refused when the pool is made', () => {
    for (const pool of [{ min: 5, max: 4 }, { min: -1 }, { max: Number.NaN }, { idleTimeoutMs: 0 }]) {
      assert.throws(() => new ShardedSentinelPool({ masters: ['a'], sentinels: ['x:1'], pool }), {
        code: 'INVALID_OPTIONS',
      })
    }
  })

  it('B040: after cold bursts, also across a failover, nothing is out and the next is served at once', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 0, max: 2 } })
    const burst = () =>
      Promise.allSettled(
        Array.from({ length: 200 }, (_, i) =>
          i % 2 === 0 ? world.pool.get(world.key) : world.pool.use(world.key, (client) => client.get(world.key)),
        ),
      )
    const asIs = () => world.pool.stats().shards[0]!
    for (let round = 0; round < 5; round++) {
      await burst()
      assert.deepEqual([asIs().leases.borrowed, asIs().leases.pending, asIs().inFlight], [0, 0, 0])
    }
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    const bursting = burst()
    world.tell()
    await bursting
    await followed
    assert.deepEqual([asIs().leases.borrowed, asIs().leases.pending, asIs().inFlight], [0, 0, 0])
    assert.ok(asIs().leases.size <= 2)
    await world.pool.use(world.key, (client) => client.set(world.key, 'served'))
    assert.equal(world.replica.data.get(world.key), 'served')
  })
})
