import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { SentinelEvent } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { errorsByCode, Load } from '../support/load.js'
import { keyOf, poolClientIds, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

describe('sentinels that are configured anew while the pool runs', () => {
  let topology: LocalTopology
  let pool: TestPool
  const news: SentinelEvent[] = []
  before(async () => {
    // `cache-b` is nobody's business here; `spare` is a server that a master name will be moved to.
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'spare'] })
    pool = poolOn(topology, { masters: ['cache-a'], pollIntervalMs: 300 })
    pool.on('sentinel', (event) => news.push(event))
    await pool.connect()
    await until('three subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
    await until('the lease connection', () => pool.stats().shards[0]!.leases.idle === 1)
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })
  const heard = (event: string) => news.filter((one) => one.event === event)
  const ask = (...words: string[]) => Promise.all(topology.sentinelNodes.map((node) => node.command(...words)))

  it('SENTINEL RESET and a changed quorum leave every connection where it is, and the next failover is followed', async () => {
    const idsBefore = await poolClientIds(await topology.currentMaster('cache-a'))
    const load = new Load(pool, ['cache-a'], 'reset')
    await ask('SENTINEL', 'SET', 'cache-a', 'quorum', '1')
    await ask('SENTINEL', 'RESET', 'cache-a')
    await until('the news', () => heard('+reset-master').length === 3 && heard('+set').length === 3)
    const seen = load.calls.length
    await until('traffic to go on', () => load.calls.length > seen + 200)
    assert.deepEqual(errorsByCode(await load.stop()), {})
    assert.deepEqual(await poolClientIds(await topology.currentMaster('cache-a')), idsBefore)
    assert.equal(pool.stats().sentinels.length, 3)
    await topology.waitUntilSettled({ hurry: true })
    const moved = nextEvent(pool, 'failover')
    const { to } = await topology.failover('cache-a', { until: 'agreed' })
    assert.equal((await moved).to.port, to.port)
  })

  it('a sentinel in TILT is passed on as its own event, and a failover by the others is followed', async () => {
    await topology.waitUntilSettled({ hurry: true })
    const tilted = topology.sentinelNodes[2]!
    await tilted.command('SENTINEL', 'DEBUG', 'tilt-trigger', '200', 'tilt-period', '1500')
    const tilt = nextEvent(pool, 'sentinel', { test: (one) => one?.event === '+tilt', timeoutMs: 5_000 })
    tilted.freeze()
    const frozenAt = performance.now()
    await until('more than the trigger', () => performance.now() - frozenAt > 400)
    tilted.cont()
    const { sentinel, masterName } = await tilt
    assert.deepEqual([sentinel.port, masterName], [tilted.port, ''])
    const moved = nextEvent(pool, 'failover')
    const { to } = await topology.failover('cache-a')
    assert.equal((await moved).to.port, to.port)
    const key = keyOf(pool, 'cache-a')
    assert.equal(await pool.set(key, 'v'), 'OK')
    assert.equal(await to.command('GET', key), 'v')
  })

  it('a master that is removed and monitored again at another address is followed there', async () => {
    const there = await topology.currentMaster('spare')
    const moved = nextEvent(pool, 'failover')
    const load = new Load(pool, ['cache-a'], 'removed')
    await ask('SENTINEL', 'REMOVE', 'spare')
    await ask('SENTINEL', 'REMOVE', 'cache-a')
    await ask('SENTINEL', 'MONITOR', 'cache-a', there.host, String(there.port), '2')
    // So soon after a failover a lower epoch may just as well be an old word: it is doubted for 5 s, then followed.
    const event = await moved
    assert.equal(event.to.port, there.port)
    const key = keyOf(pool, 'cache-a')
    assert.equal(await pool.set(key, 'moved'), 'OK')
    assert.equal(await there.command('GET', key), 'moved')
    assert.deepEqual(errorsByCode(await load.stop()), {})
  })

  it("only what concerns the pool's own masters is passed on", async () => {
    news.length = 0
    await topology.failover('cache-b', { until: 'agreed' })
    await ask('SENTINEL', 'SET', 'cache-a', 'quorum', '2')
    await until('news of our own', () => heard('+set').length >= 3)
    assert.deepEqual(new Set(news.map(({ masterName }) => masterName)), new Set(['cache-a']))
    for (const { sentinel, event, message } of news) {
      assert.ok(topology.node(sentinel)?.kind === 'sentinel' && event !== '' && message.includes('cache-a'))
    }
  })
})
