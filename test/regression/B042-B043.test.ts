// B042: close() hung while connections were being made. B043: close() did not wait for what was running, and cleaned up by throwing.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

describe('close', () => {
  for (const offsetMs of [0, 10, 200, 1_100]) {
    it(`B042: ${offsetMs} ms after connect to servers that do not answer settles in time, and leaves nothing`, async (t) => {
      const world = await fakeWorld(t, { pool: { min: 2 } })
      await world.pool.close()
      for (const redis of [world.master, world.other]) redis.silent = true
      const connecting = ending(world.pool.connect())
      await new Promise((resolve) => setTimeout(resolve, offsetMs))
      const startedAt = performance.now()
      await Promise.all([world.pool.close(), world.pool.close()])
      assert.ok(performance.now() - startedAt < 500)
      assert.equal(((await connecting).error as { code: string }).code, 'POOL_CLOSED')
      await until('the servers to see it', () => world.master.server.connections.size === 0)
    })
  }

  it('B042: with a waiter behind a connection that cannot be made, the waiter is told that it is closed', async (t) => {
    const world = await fakeWorld(t)
    world.master.silent = true
    const waiting = ending(world.pool.acquire(world.key))
    await until('the try', () => world.pool.stats().shards[0]!.leases.pending === 1)
    const startedAt = performance.now()
    await world.pool.close({ timeoutMs: 300 })
    assert.ok(performance.now() - startedAt < 600)
    assert.equal(((await waiting).error as { code: string }).code, 'POOL_CLOSED')
  })

  it('B043: what was accepted gets its real result, a blocked lease a bounded grace, new calls a plain no', async (t) => {
    const world = await fakeWorld(t)
    const pop = ending(world.pool.blPop(world.key, 0))
    await until('the pop', () => world.master.count('BLPOP') === 1)
    const sets = Array.from({ length: 50 }, (_, i) => world.pool.set(`${world.key}`, String(i)))
    const startedAt = performance.now()
    const closing = world.pool.close({ timeoutMs: 300 })
    await assert.rejects(world.pool.get(world.key), { code: 'POOL_CLOSED', outcome: 'not-sent' })
    assert.deepEqual(new Set(await Promise.all(sets)), new Set(['OK']))
    await closing
    assert.ok(performance.now() - startedAt < 600)
    assert.equal(world.pool.isOpen, false)
    const { error } = await pop
    assert.ok(['POOL_CLOSED', 'LEASE_RELEASED'].includes((error as { code: string }).code), String(error))
  })
})
