import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('a connection that breaks', () => {
  it('in the middle of a reply: a read is repeated, a write is told as unknown and was executed once', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 2_000 })
    await world.pool.set(world.key, 'value')
    world.master.breaksAfter = 4
    const read = world.pool.get(world.key)
    await until('the first try', () => world.master.count('GET') === 1)
    world.master.breaksAfter = undefined
    assert.equal(await read, 'value')

    world.master.breaksAfter = 1
    const { error } = await ending(world.pool.incr(world.key.replace('key', 'counter')).catch((e) => Promise.reject(e)))
    const { code, outcome } = (error ?? {}) as { code?: string; outcome?: string }
    // The counter may be a key of the other shard, whose server is well.
    if (error !== undefined) assert.deepEqual([code, outcome], ['CONNECTION_LOST', 'unknown'])
    world.master.breaksAfter = undefined
    assert.ok(world.master.count('INCR') <= 1)
  })

  it('while many calls are in flight: each ends once, with its own reply or as lost', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    const keys = Array.from({ length: 1_000 }, (_, i) => `k${i}`).filter((key) => world.pool.locate(key) === 'cache-a')
    await Promise.all(keys.map((key) => world.pool.set(key, key)))
    for (let round = 0; round < 5; round++) {
      const reads = keys.map((key) => world.pool.get(key))
      setImmediate(() => world.master.cut())
      assert.deepEqual(await Promise.all(reads), keys)
    }
    assert.equal(world.pool.stats().shards[0]!.inFlight, 0)
  })

  it('writes that were cut are executed at most once, and each is told right', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    let acknowledged = 0
    let unknown = 0
    for (let round = 0; round < 20; round++) {
      const writes = Array.from({ length: 20 }, () => world.pool.incr(world.key))
      if (round % 2 === 0) setImmediate(() => world.master.cut())
      for (const end of await Promise.allSettled(writes)) {
        if (end.status === 'fulfilled') acknowledged++
        else {
          assert.equal(end.reason.outcome, 'unknown', String(end.reason))
          unknown++
        }
      }
    }
    const count = world.master.count('INCR')
    assert.ok(count >= acknowledged && count <= acknowledged + unknown, `${acknowledged} <= ${count} <= +${unknown}`)
  })

  it('silently is noticed by its heartbeat, and replaced when the server answers elsewhere', async (t) => {
    const world = await fakeWorld(t, { heartbeatMs: 300, commandTimeoutMs: 5_000 })
    const [old] = [...world.master.server.connections]
    const reconnected = nextEvent(world.pool, 'reconnect', { timeoutMs: 5_000 })
    const silencedAt = performance.now()
    old!.send = () => {}
    await reconnected
    const tookMs = performance.now() - silencedAt
    assert.ok(tookMs < 300 + 1_000 + 500, `${tookMs} ms`)
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
  })

  it('and is let in only to be thrown out is not made anew without a pause', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    const before = world.master.server.accepted
    const timer = setInterval(() => world.master.cut(), 1)
    t.after(() => clearInterval(timer))
    await ending(world.pool.get(world.key))
    clearInterval(timer)
    const made = world.master.server.accepted - before
    assert.ok(made < 60, `${made} connections in a second`)
    // A read, which is repeated: the last cut may still be on its way.
    assert.equal(await world.pool.get(world.key), null)
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
  })
})
