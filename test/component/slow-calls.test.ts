import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, type FakeWorld, fakeWorld, OwnLag } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

const POOL_MS = 500
const script = (world: FakeWorld, ms: number, timeout: number) =>
  world.pool.withCommandOptions({ timeout }).eval(String(ms), { keys: [world.key], arguments: [] })

type Failure = { code?: string; outcome?: string; timeoutMs?: number; shard?: string; command?: string }

describe("a call whose own time-out is longer than the pool's", () => {
  for (const timeout of [10_000, 0]) {
    it(`has its whole time (timeout ${timeout}); the others end by theirs, and the shard is well after it`, async (t) => {
      const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
      const slow = ending(script(world, 2_500, timeout))
      await until('it to be running', () => world.master.count('EVAL') === 1)
      const lag = new OwnLag()
      const others = await Promise.all([
        ...Array.from({ length: 20 }, () => ending(world.pool.set(world.key, 'other'))),
        ending(world.pool.get(world.key)),
      ])
      const ownMs = lag.stop()
      for (const { error, tookMs } of others) {
        assert.ok(error !== undefined)
        assert.ok(tookMs <= POOL_MS + 100 + ownMs, `${tookMs} ms`)
      }
      assert.equal((others[0]!.error as Failure).code, 'COMMAND_TIMEOUT')
      assert.equal(await world.pool.set(world.otherKey, 'v'), 'OK', 'the other shard has noticed nothing')
      const { reply, error, tookMs } = await slow
      assert.equal(error, undefined, String(error))
      assert.equal(reply, 'done')
      assert.ok(tookMs >= 2_400 && tookMs < 3_500, `${tookMs} ms`)
      assert.equal(world.master.count('EVAL'), 1, 'run once')
      await until('the shard to be back', async () => (await ending(world.pool.get(world.key))).error === undefined)
    })
  }

  it('is not cut short by a server that answers BUSY meanwhile', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    world.master.busyReplyAfterMs = 300
    const { reply, error } = await ending(script(world, 2_000, 10_000))
    assert.equal(reply, 'done', String(error))
  })

  it('ends by it, in an error that names it; what was called after it on the same way goes on', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    const lag = new OwnLag()
    const first = ending(script(world, 2_500, 1_500))
    const second = ending(world.pool.withCommandOptions({ timeout: 8_000 }).set(world.key, 'after'))
    const { error, tookMs } = await first
    const { code, outcome, timeoutMs, shard, command } = error as Failure
    assert.deepEqual(
      { code, outcome, timeoutMs, shard, command },
      { code: 'COMMAND_TIMEOUT', outcome: 'unknown', timeoutMs: 1_500, shard: 'cache-a', command: 'EVAL' },
    )
    assert.ok(tookMs >= 1_480 && tookMs <= 1_600 + lag.stop(), `${tookMs} ms`)
    assert.equal((await second).reply, 'OK')
    assert.equal(world.master.data.get(world.key), 'after')
  })

  it('many of them share one connection, keep their order, and cost no ordinary call anything', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    const { accepted } = world.master.server
    const patient = world.pool.withCommandOptions({ timeout: 5_000 })
    const ends = await Promise.all(Array.from({ length: 1_000 }, (_, i) => patient.set(world.key, String(i))))
    assert.ok(ends.every((reply) => reply === 'OK'))
    assert.equal(world.master.data.get(world.key), '999')
    assert.deepEqual(await patient.pipeline().set(world.key, 'x').get(world.key).exec(), ['OK', 'x'])
    assert.equal(world.master.server.accepted, accepted + 1)
    assert.equal(world.pool.stats().shards[0]!.sockets, 2)
  })

  it('shorter than the pool’s, or as long, goes the common way', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    for (const timeout of [50, POOL_MS]) await world.pool.withCommandOptions({ timeout }).set(world.key, 'v')
    assert.equal(world.master.server.accepted, 1)
  })

  it('the connection is closed when it was idle for long, and opened again', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS, pool: { min: 0, idleTimeoutMs: 300 } })
    const patient = world.pool.withCommandOptions({ timeout: 5_000 })
    await patient.set(world.key, '1')
    const opened = performance.now()
    assert.equal(world.master.server.connections.size, 2)
    await until('it to be closed', () => world.master.server.connections.size === 1)
    assert.ok(performance.now() - opened >= 250)
    assert.equal(await patient.get(world.key), '1')
    assert.deepEqual(world.events, [])
  })

  it('its connection follows a failover, and nothing more goes to the old node', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    const patient = world.pool.withCommandOptions({ timeout: 5_000 })
    await patient.set(world.key, 'before')
    world.promote()
    world.tell()
    await until('the failover', () => world.events.some(([name]) => name === 'failover'))
    assert.equal(await patient.set(world.key, 'after'), 'OK')
    assert.equal(world.replica.data.get(world.key), 'after')
    assert.equal(world.master.data.get(world.key), 'before')
    assert.equal(world.master.server.connections.size, 0)
  })

  it('its connection died silently: replaced, since the server answers elsewhere; a read is repeated, a write told', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 2_000, heartbeatMs: 1_000 })
    const patient = world.pool.withCommandOptions({ timeout: 20_000 })
    await patient.set(world.key, 'v')
    const lane = [...world.master.server.connections].at(-1)!
    lane.send = () => {}
    const [read, write] = await Promise.all([ending(patient.get(world.key)), ending(patient.incr(world.key))])
    assert.equal(read.error, undefined)
    assert.ok(read.tookMs < 3_000, `${read.tookMs} ms`)
    assert.deepEqual((write.error as Failure).outcome, 'unknown')
    assert.equal(world.master.count('INCR'), 1)
    assert.deepEqual(world.events, [], 'nobody else has noticed')
  })

  it('while it cannot be opened: waits, ends as not sent, and tries a few times, not thousands', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS, connectTimeoutMs: 200 })
    world.master.refusal = 'LOADING Redis is loading'
    world.master.refusesAll = true
    const { accepted } = world.master.server
    const { error, tookMs } = await ending(world.pool.withCommandOptions({ timeout: 1_000 }).set(world.key, 'v'))
    const { code, outcome } = error as Failure
    assert.deepEqual([code, outcome], ['COMMAND_TIMEOUT', 'not-sent'])
    assert.ok(tookMs >= 950 && tookMs < 1_400, `${tookMs} ms`)
    assert.ok(world.master.server.accepted - accepted < 40, `${world.master.server.accepted - accepted}`)
    assert.equal(world.master.count('SET'), 0)
  })

  it('close ends it within its bound', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: POOL_MS })
    const slow = ending(script(world, 5_000, 0))
    await until('it to be running', () => world.master.count('EVAL') === 1)
    const startedAt = performance.now()
    await world.pool.close({ timeoutMs: 300 })
    assert.ok(performance.now() - startedAt < 500)
    const { code, outcome } = (await slow).error as Failure
    assert.deepEqual([code, outcome], ['POOL_CLOSED', 'unknown'])
  })
})
