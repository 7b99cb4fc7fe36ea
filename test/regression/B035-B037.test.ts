// B035: a connection released twice was shared by two callers. B037: one borrowed before a failover went back and was handed out again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

describe('a lease goes back once', () => {
  it('B035: a second release is refused, and two later callers never share the connection', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 0, max: 1 } })
    const lease = await world.pool.acquire(world.key)
    await lease.release()
    await assert.rejects(lease.release(), { code: 'LEASE_RELEASED', why: 'released' })
    await assert.rejects(lease.client.get(world.key), { code: 'LEASE_RELEASED' })
    let out = 0
    await Promise.all(
      Array.from({ length: 2 }, () =>
        world.pool.use(world.key, async (client) => {
          assert.equal(++out, 1)
          await client.get(world.key)
          out--
        }),
      ),
    )
    const disposed = await world.pool.acquire(world.key)
    await disposed[Symbol.asyncDispose]()
    assert.equal(disposed.state, 'released')
  })

  it('B037: over a failover they are cut, and every later one is of the new master', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 0, max: 4 } })
    const leases = await Promise.all(Array.from({ length: 3 }, () => world.pool.acquire(world.key)))
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    world.tell()
    await followed
    for (const lease of leases) {
      assert.equal(lease.state, 'failover')
      await assert.rejects(lease.client.get(world.key), {
        code: 'LEASE_RELEASED',
        why: 'failover',
        outcome: 'not-sent',
      })
      await lease.release()
    }
    for (let i = 0; i < 10; i++) {
      await world.pool.use(world.key, (client) => client.set(world.key, String(i)))
    }
    assert.equal(world.replica.count('SET'), 10)
    assert.equal(world.master.server.connections.size, 0)
    assert.equal(world.pool.stats().shards[0]!.leases.borrowed, 0)
  })
})
