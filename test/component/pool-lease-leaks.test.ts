import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

/** With room for one lease, one that is never given back would shut everybody else out. */
const ONE = { pool: { min: 0, max: 1, acquireTimeoutMs: 2_000 }, commandTimeoutMs: 2_000 }

describe('a lease that the pool took for itself', () => {
  it('is given back when a failover ends the blocking command it was for', async (t) => {
    const { pool, master, key, ...world } = await fakeWorld(t, ONE)
    const waiting = ending(pool.blPop(key, 30))
    await until('it waits', () => master.count('BLPOP') === 1)
    const moved = nextEvent(pool, 'failover', { timeoutMs: 5_000 })
    world.promote()
    world.tell()
    await moved
    assert.equal(((await waiting).error as { code?: string }).code, 'LEASE_RELEASED')
    await pool.use(key, (client) => client.get(key))
  })
})
