import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AbortError } from 'redis'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('what waits is bounded', () => {
  it('maxWaiting: with the shard down, more fail at once; when it is back only the waiting ones are sent', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 0, maxWaiting: 100 } })
    const down = nextEvent(world.pool, 'shard-down')
    await world.master.close()
    await down
    const waiting = Array.from({ length: 100 }, (_, i) => world.pool.set(world.key, `waiting ${i}`))
    const startedAt = performance.now()
    const refused = await Promise.all(Array.from({ length: 900 }, () => ending(world.pool.set(world.key, 'refused'))))
    assert.ok(performance.now() - startedAt < 500)
    for (const { error } of refused) {
      const { code, reason, outcome } = error as { code: string; reason: string; outcome: string }
      assert.deepEqual([code, reason, outcome], ['SHARD_UNAVAILABLE', 'too-many-waiting', 'not-sent'])
    }
    assert.equal(await world.pool.set(world.otherKey, 'well'), 'OK')
    await world.master.server.listen()
    await Promise.all(waiting)
    assert.equal(world.master.count('SET'), 100)
    assert.equal(world.master.data.get(world.key), 'waiting 99', 'in the order they were called')
  })

  it('while connect() is under way: as few may wait as for a shard, and each no longer than it says itself', async (t) => {
    const world = await fakeWorld(t, {
      commandTimeoutMs: 5_000,
      connectTimeoutMs: 300,
      connectDeadlineMs: 5_000,
      pool: { min: 0, maxWaiting: 5 },
    })
    const { pool, key } = world
    await pool.close()
    const sent = world.master.count('SET')
    world.master.silent = true
    const connecting = pool.connect()
    const abort = new AbortController()
    const impatient = [
      pool.withCommandOptions({ timeout: 100 }).get(key),
      pool.withCommandOptions({ timeout: 100 }).multi().get(key).exec(),
      pool.withCommandOptions({ timeout: 100 }).sendCommand(['GET', key]),
      pool.withCommandOptions({ timeout: 100 }).settled.get(key),
      pool.withCommandOptions({ timeout: 100 }).subscribe('news', () => {}),
      pool.withCommandOptions({ timeout: 100 }).scanIterator().next(),
    ].map(ending)
    const aborted = ending(pool.withAbortSignal(abort.signal).get(key))
    const waiting = Array.from({ length: 3 }, (_, i) => pool.set(key, String(i)))
    const refused = await Promise.all(Array.from({ length: 500 }, () => ending(pool.set(key, 'refused'))))
    for (const { error, tookMs } of refused) {
      assert.equal((error as { reason: string }).reason, 'too-many-waiting')
      assert.ok(tookMs < 2_000)
    }
    abort.abort()
    assert.ok((await aborted).error instanceof AbortError)
    for (const { error, tookMs } of await Promise.all(impatient)) {
      assert.deepEqual(
        [(error as { code: string }).code, (error as { outcome: string }).outcome],
        ['SHARD_UNAVAILABLE', 'not-sent'],
      )
      assert.ok(tookMs < 2_000, `${tookMs} ms`)
    }
    assert.equal(world.master.count('SET'), sent)
    world.master.silent = false
    await connecting
    await Promise.all(waiting)
    assert.equal(world.master.data.get(key), '2', 'in the order they were called')
  })

  it('maxInFlight: on a server that does not answer, more fail at once; the others end by their deadline', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 500, maxInFlight: 100 })
    world.master.silent = true
    const calls = Array.from({ length: 300 }, () => ending(world.pool.set(world.key, 'v')))
    const ended = await Promise.all(calls)
    const full = ended.filter(({ error }) => (error as { reason?: string }).reason === 'too-many-in-flight')
    assert.equal(full.length, 200)
    assert.ok(full.every(({ tookMs }) => tookMs < 400))
    const others = ended.filter((one) => !full.includes(one))
    assert.ok(others.every(({ tookMs }) => tookMs < 1_000))
    assert.ok(others.every(({ error }) => (error as { outcome: string }).outcome === 'unknown'))
    world.master.silent = false
    await until('the shard to be back', async () => (await ending(world.pool.set(world.key, 'v'))).error === undefined)
  })

  it('a shard that is down holds up no other', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    await world.master.close()
    const stuck = Array.from({ length: 500 }, () => ending(world.pool.set(world.key, 'v')))
    const startedAt = performance.now()
    for (let i = 0; i < 200; i++) await world.pool.set(world.otherKey, String(i))
    assert.ok(performance.now() - startedAt < 900)
    await Promise.all(stuck)
    assert.equal(world.other.server.accepted, 1)
    assert.equal(world.pool.stats().shards[1]!.errors, 0)
  })
})
