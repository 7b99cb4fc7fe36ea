import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolClientIds, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

const PAUSE_MS = 2_500

describe('a server that holds back writes (CLIENT PAUSE … WRITE)', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a'], replicas: 0, sentinels: 1, downAfterMs: 30_000 })
    pool = await poolOn(topology, {}).connect()
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  it('costs waiting, and no connection, no lease, no subscription and no write', async () => {
    const node = await topology.currentMaster('cache-a')
    const key = keyOf(pool, 'cache-a')
    const news: string[] = []
    for (const event of ['failover', 'reconnect', 'shard-down', 'subscription-gap'] as const)
      pool.on(event, () => news.push(event))
    const heard: string[] = []
    await pool.subscribe('news', (message) => void heard.push(message))
    const lease = await pool.acquire(key)
    const slow = pool.withCommandOptions({ timeout: 20_000 })
    assert.equal(await slow.set(`${key}slow`, 'v'), 'OK')
    const element = pool.blPop(`${key}queue`, 0)
    element.catch(() => {})
    await until('the wait', async () => /cmd=blpop/.test(String(await node.command('CLIENT', 'LIST'))))
    const before = await poolClientIds(node)
    const pausedAt = performance.now()
    await node.command('CLIENT', 'PAUSE', String(PAUSE_MS), 'WRITE')
    const counts = await Promise.all([
      ...Array.from({ length: 20 }, () => pool.incr(`${key}count`)),
      slow.incr(`${key}count`),
    ])
    assert.ok(performance.now() - pausedAt >= PAUSE_MS - 50)
    assert.deepEqual(
      [...counts].sort((a, b) => a - b),
      Array.from({ length: 21 }, (_, i) => i + 1),
    )
    assert.deepEqual(news, [])
    assert.equal(lease.state, 'active')
    assert.equal(await lease.client.get(`${key}count`), '21')
    await pool.lPush(`${key}queue`, 'element')
    assert.equal((await element)?.element, 'element')
    await pool.publish('news', 'still heard')
    await until('the message', () => heard.length === 1)
    assert.deepEqual(await poolClientIds(node), before)
    await lease.release()
  })

  it('a connection that is silent without a write on it is dead, and replaced within a heartbeat and a second', async (t) => {
    const proxied = await LocalTopology.start({
      shards: ['cache-a'],
      replicas: 0,
      sentinels: 1,
      proxy: { data: true },
      downAfterMs: 30_000,
    })
    t.after(() => proxied.close())
    await using app = await poolOn(proxied, { heartbeatMs: 1_000, commandTimeoutMs: 20_000 }).connect()
    const key = keyOf(app, 'cache-a')
    await app.set(key, 'v')
    const slow = app.withCommandOptions({ timeout: 60_000 })
    assert.equal(await slow.get(key), 'v')
    const node = await proxied.currentMaster('cache-a')
    const trips = () => app.stats().shards[0]!.roundTrip?.samples ?? 0
    for (const client of [app, slow]) {
      // A fence that is answered says that the write is.
      const before = trips()
      await until('a fence', () => trips() > before)
      await node.command('CLIENT', 'PAUSE', '8000', 'WRITE')
      const proxy = await proxied.proxy(node)
      proxy.silence()
      const since = performance.now()
      assert.equal(await client.get(key), 'v')
      const tookMs = performance.now() - since
      assert.ok(tookMs < 3_000, `${tookMs} ms`)
      await node.command('CLIENT', 'UNPAUSE')
    }
  })

  it('a connection that has died at such a time is replaced all the same once writes go on', async () => {
    const node = await topology.currentMaster('cache-a')
    const key = keyOf(pool, 'cache-a')
    assert.equal(await pool.set(key, 'v'), 'OK')
    await node.command('CLIENT', 'PAUSE', '1000', 'WRITE')
    const told = assert.rejects(pool.set(key, 'w'), { code: 'CONNECTION_LOST', outcome: 'unknown' })
    const back = new Promise((resolve) => pool.once('reconnect', resolve))
    await node.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await told
    await back
    assert.equal(await pool.set(key, 'x'), 'OK')
  })
})
