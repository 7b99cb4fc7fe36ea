// B068: host names of sentinels were resolved once and cached; after they moved, the client never found them.
import assert from 'node:assert/strict'
import { isIP, type LookupFunction } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import { TcpProxy } from '../../src/testing/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { until } from '../support/waiting.js'

/** Names and what they stand for at this moment; a name that is not there fails as an unknown one does. */
class Names {
  readonly #byName = new Map<string, readonly string[]>()
  asked = 0
  /** So many questions fail before the next is answered. */
  failures = 0

  set(name: string, ...ips: readonly string[]): void {
    this.#byName.set(name, ips)
  }

  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.asked++
    const ips = isIP(hostname) ? [hostname] : this.#byName.get(hostname)
    if (ips === undefined || this.failures > 0) {
      this.failures--
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
      process.nextTick(callback, error, '', 4)
    } else if (options.all) {
      process.nextTick(
        callback,
        null,
        ips.map((address) => ({ address, family: 4 })),
      )
    } else process.nextTick(callback, null, ips[0], 4)
  }
}

async function world(t: TestContext, names: Names, options: Partial<PoolOptions> = {}) {
  const [master, replica] = [await FakeRedis.listen(), await FakeRedis.listen('slave')]
  const listen = () =>
    FakeSentinel.listen({ 'cache-a': { address: master.address, epoch: 1, replicas: [replica.address] } })
  const sentinels = await Promise.all([listen(), listen(), listen()])
  const seeds = sentinels.map(({ address }, i) => ({ host: `sentinel-${i}.test`, port: address.port }))
  for (const { host } of seeds) names.set(host, '127.0.0.1')
  const pool = new ShardedSentinelPool({
    masters: ['cache-a'],
    sentinels: seeds,
    sentinelClient: { socket: { lookup: names.lookup } },
    placementGuard: 'off',
    pollIntervalMs: 60_000,
    pool: { min: 0 },
    ...options,
  })
  t.after(async () => {
    pool.destroy()
    await Promise.all([master, replica, ...sentinels].map((server) => server.close()))
  })
  return { master, replica, sentinels, seeds, pool, listen }
}

const subscribed = (pool: { stats(): { sentinels: readonly { subscribed: boolean }[] } }) =>
  pool.stats().sentinels.filter((one) => one.subscribed).length

describe('sentinels by host name', () => {
  it('all of them restarted at new addresses behind the same names are heard again, and a switch is followed', async (t) => {
    const names = new Names()
    const { master, replica, sentinels, seeds, pool, listen } = await world(t, names)
    await pool.connect()
    await until('three subscriptions', () => subscribed(pool) === 3)
    await Promise.all(sentinels.map((sentinel) => sentinel.close()))
    await until('nobody to hear', () => subscribed(pool) === 0)
    assert.equal(await pool.set('k', 'v'), 'OK', 'data traffic goes on')
    const fresh = await Promise.all(seeds.map(listen))
    // Their own names are known for nothing: three questions fail, and then they lead to 127.0.0.2.
    const doors = await Promise.all(
      fresh.map(({ address }, i) => TcpProxy.listen({ target: address, host: '127.0.0.2', port: seeds[i]!.port })),
    )
    t.after(() => Promise.all([...fresh, ...doors].map((server) => server.close())))
    names.failures = 3
    for (const { host } of seeds) names.set(host, '127.0.0.2')
    await until('three subscriptions', () => subscribed(pool) === 3, 5_000)
    assert.deepEqual(
      pool.stats().sentinels.map(({ address }) => address),
      seeds,
    )
    replica.role = 'master'
    for (const sentinel of fresh)
      sentinel.masters.set('cache-a', { address: replica.address, epoch: 2, replicas: [master.address] })
    const words = ['cache-a', '127.0.0.1', master.address.port, '127.0.0.1', replica.address.port]
    for (const sentinel of fresh) sentinel.publish('+switch-master', words.join(' '))
    await until('the switch', () => pool.stats().shards[0]!.address?.port === replica.address.port)
  })

  it('a name of several addresses, of which one lives, is reached at that one', async (t) => {
    const names = new Names()
    const { seeds, pool } = await world(t, names)
    for (const { host } of seeds) names.set(host, '127.0.0.3', '127.0.0.4', '127.0.0.1')
    await pool.connect()
    await until('three subscriptions', () => subscribed(pool) === 3)
  })

  it('a name that cannot be looked up is a failure of that sentinel alone, told as such', async (t) => {
    const names = new Names()
    const { seeds, pool } = await world(t, names)
    const known = new ShardedSentinelPool({
      masters: ['cache-a'],
      sentinels: ['nowhere.test:26379', ...seeds],
      sentinelClient: { socket: { lookup: names.lookup } },
      placementGuard: 'off',
      pool: { min: 0 },
    })
    t.after(() => known.destroy())
    await known.connect()
    const asked = names.asked
    const lost = new ShardedSentinelPool({
      masters: ['cache-a'],
      sentinels: ['nowhere.test:26379'],
      sentinelClient: { socket: { lookup: names.lookup } },
      connectDeadlineMs: 200,
    })
    await assert.rejects(lost.connect(), (error: Error & { answers?: unknown }) => {
      assert.deepEqual(error.answers, [{ sentinel: 'nowhere.test:26379', error: 'ENOTFOUND' }])
      return true
    })
    assert.ok(names.asked > asked)
    assert.equal(pool.isOpen, false)
  })
})
