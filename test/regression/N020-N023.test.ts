// N020, N021, N022, N023: listeners that became more and more, and trouble at a sentinel that ended the listening for good.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

/** What Node warns of while the test runs. */
function warnings(t: TestContext): string[] {
  const seen: string[] = []
  const listener = (warning: Error) => void seen.push(warning.message)
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  return seen
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('listeners', () => {
  it('N020: one AbortSignal for many calls: no warning, none is left on it, and aborting ends all of them', async (t) => {
    const warned = warnings(t)
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 5_000, pool: { min: 0, max: 30 } })
    const abort = new AbortController()
    const view = pool.withAbortSignal(abort.signal)
    await Promise.all(Array.from({ length: 100 }, () => view.get(key)))
    assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
    const waits = Array.from({ length: 20 }, () => ending(view.blPop(key, 30)))
    await until('all to block', () => master.count('BLPOP') === 20)
    await master.close()
    await until('the loss', () => pool.stats().shards[0]!.state !== 'ready')
    const calls = Array.from({ length: 100 }, () => ending(view.get(key)))
    await nextTurn()
    abort.abort()
    for (const { error, tookMs } of await Promise.all([...calls, ...waits])) {
      assert.ok(error instanceof Error)
      assert.ok(tookMs < 4_000, `${tookMs} ms`)
    }
    assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
    await nextTurn()
    assert.deepEqual(warned, [])
  })

  it('N021: many shards, sentinels, leases at once and listeners of the app: Node has nothing to warn of', async (t) => {
    const warned = warnings(t)
    const redis = await FakeRedis.listen()
    const names = Array.from({ length: 20 }, (_, i) => `cache-${i}`)
    const masters = () => Object.fromEntries(names.map((name) => [name, { address: redis.address, epoch: 1 }]))
    const sentinels = await Promise.all(Array.from({ length: 15 }, () => FakeSentinel.listen(masters())))
    const pool = new ShardedSentinelPool({
      masters: names,
      sentinels: sentinels.map(({ address }) => address),
      placementGuard: 'off',
      pollIntervalMs: 100,
      pool: { min: 0, max: 40 },
    })
    t.after(async () => {
      pool.destroy()
      await Promise.all([redis, ...sentinels].map((server) => server.close()))
    })
    for (let i = 0; i < 30; i++) pool.on('error', () => {})
    await pool.connect()
    await Promise.all(Array.from({ length: 40 }, () => pool.use('k', (client) => client.get('k'))))
    redis.cut()
    await Promise.all(Array.from({ length: 40 }, () => pool.use('k', (client) => client.get('k')).catch(() => {})))
    await until('all to be back', () => pool.isReady)
    await nextTurn()
    assert.deepEqual(warned, [])
  })

  it('N022: reconnects add none: each is told once, and a sentinel has one subscription however many shards and moves there are', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    const { pool, key, sentinels } = world
    await until('subscriptions', () => pool.stats().sentinels.every(({ subscribed }) => subscribed))
    for (let round = 1; round <= 5; round++) {
      world.master.cut()
      await until('the reconnect', () => pool.stats().shards[0]!.reconnects === round)
      assert.equal(await pool.set(key, String(round)), 'OK')
      // A connection that is lost again within a second is waited for.
      assert.equal(world.events.filter(([name]) => name === 'reconnect').length, round)
    }
    world.promote()
    world.master.role = 'slave'
    world.tell()
    await until('the failover', () => pool.stats().shards[0]!.failovers === 1)
    for (const sentinel of sentinels) assert.equal(sentinel.subscribers, 1)
    assert.equal(world.events.filter(([name]) => name === 'failover').length, 1)
  })

  it('N023: a sentinel that has no room (max number of clients), or refuses SUBSCRIBE, is tried again until it is heard', async (t) => {
    const world = await fakeWorld(t, { heartbeatMs: 100 })
    const { pool, sentinels } = world
    await until('subscriptions', () => pool.stats().sentinels.every(({ subscribed }) => subscribed))
    const full = new Set<unknown>()
    for (const { server, denied } of sentinels) {
      denied.add('SUBSCRIBE')
      for (const connection of server.connections) {
        full.add(connection)
        connection.raw('-ERR max number of clients reached\r\n')
        connection.destroy()
      }
    }
    await until('nobody to be heard', () => pool.stats().sentinels.every(({ subscribed }) => !subscribed))
    assert.equal(await pool.set(world.key, 'meanwhile'), 'OK')
    for (const { denied } of sentinels) denied.clear()
    await until('subscriptions', () => pool.stats().sentinels.every(({ subscribed }) => subscribed))
    world.promote()
    world.master.role = 'slave'
    world.tell()
    await until('the failover', () => pool.stats().shards[0]!.failovers === 1)
  })
})
