import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { LocalTopology, type LocalTopologyOptions, type TopologyNode } from '../../src/testing/index.js'
import { attempt, makeResolver, makeWatcher } from '../support/fake-sentinel-world.js'

const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))
after(() => assert.deepEqual(unhandled, []))

const name = 'shard-0'

async function start(t: TestContext, options: LocalTopologyOptions = {}): Promise<LocalTopology> {
  const topology = await LocalTopology.start(options)
  t.after(() => topology.close())
  return topology
}

/** How many of our watching connections each sentinel has. */
function watching(sentinels: readonly TopologyNode[]): Promise<number[]> {
  return Promise.all(
    sentinels.map(async (sentinel) => {
      const list = String(await sentinel.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      return list.split('\n').filter((line) => line.includes('name=test:watch')).length
    }),
  )
}

async function untilWatching(sentinels: readonly TopologyNode[], expected: readonly number[]): Promise<void> {
  const until = performance.now() + 3000
  let seen = await watching(sentinels)
  while (seen.join() !== expected.join() && performance.now() < until) seen = await watching(sentinels)
  assert.deepEqual(seen, expected)
}

test('watching: from one seed all three are found, and each has exactly one subscriber, through failovers too', async (t) => {
  const topology = await start(t)
  const { heard, watcher } = makeWatcher(t, topology.sentinels.slice(0, 1), topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await untilWatching(topology.sentinelNodes, [1, 1, 1])
  for (let i = 1; i <= 2; i++) {
    await topology.failover(name, { until: 'agreed' })
    await heard.until(() => heard.switches.length === 3 * i, 10_000)
    await untilWatching(topology.sentinelNodes, [1, 1, 1])
  }
  watcher.close()
  await untilWatching(topology.sentinelNodes, [0, 0, 0])
})

test('watching: seeds by name, through proxies, are the sentinels that the peers name by IP', async (t) => {
  const topology = await start(t, { proxy: { sentinels: true } })
  const seeds = topology.sentinels.map((a) => ({ host: 'localhost', port: a.port }))
  const { heard, watcher, list } = makeWatcher(t, seeds, topology.masters)
  await heard.until(() => watcher.reachable === 3 && list.size === 3)
  await untilWatching(topology.sentinelNodes, [1, 1, 1])
  assert.ok(list.entries().every((entry) => entry.seed))
})

test('watching: a subscription that a proxy silences is replaced within heartbeatMs + 1 s, and what was missed is asked for', async (t) => {
  const topology = await start(t, { sentinels: 1, proxy: { sentinels: true } })
  const resolver = makeResolver(t, topology.sentinels)
  const { heard } = makeWatcher(t, topology.sentinels, topology.masters, { heartbeatMs: 500 })
  await heard.until(() => heard.rechecks.length === 1)
  const proxy = await topology.proxy(topology.sentinelNodes[0]!)
  const silentAt = performance.now()
  assert.ok(proxy.silence() > 0)
  await heard.until(() => heard.rechecks.length === 2)
  const took = performance.now() - silentAt
  assert.ok(took < 1500, `${took} ms`)
  const looked = (await resolver.lookup(topology.masters, attempt())).get(name)
  assert.ok(looked && !(looked instanceof Error))
  assert.equal(looked.address.port, (await topology.currentMaster(name)).port)
})

test('watching: all sentinels restarted are heard again, with one report each, and the next failover is followed', async (t) => {
  const topology = await start(t)
  const resolver = makeResolver(t, topology.sentinels)
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await Promise.all(topology.sentinelNodes.map((node) => node.kill()))
  await heard.until(() => heard.states.at(-1)?.state === 'degraded')
  await assert.rejects(resolver.resolve(name, attempt()), { code: 'SENTINELS_UNREACHABLE' })
  await Promise.all(topology.sentinelNodes.map((node) => node.start()))
  const backAt = performance.now()
  await heard.until(() => watcher.reachable === 3)
  const took = performance.now() - backAt
  assert.ok(took < 3000, `${took} ms: the cap of the back-off and a second`)
  assert.equal(heard.errors.length, 3)
  await topology.waitUntilSettled()
  const { to } = await topology.failover(name, { until: 'agreed' })
  await heard.until(() => heard.switches.length === 3, 10_000)
  const found = await resolver.resolve(name, attempt())
  found.connection.destroy()
  assert.equal(found.address.port, to.port)
})

test('watching: other sentinels behind the same addresses are heard, and seeds are never lost', async (t) => {
  const old = await start(t, { proxy: { sentinels: true } })
  const { TcpProxy } = await import('../../src/testing/index.js')
  const fronts = await Promise.all(
    old.sentinelNodes.map((n) => TcpProxy.listen({ target: n.address, host: '127.0.0.1' })),
  )
  t.after(() => Promise.all(fronts.map((f) => f.close())))
  const seeds = fronts.map((f) => f.address)
  const { heard, watcher, list } = makeWatcher(t, seeds, [name])
  await heard.until(() => watcher.reachable === 3)
  const fresh = await start(t)
  await Promise.all(fronts.map((f) => f.close()))
  await heard.until(() => heard.states.at(-1)?.state === 'degraded' || watcher.reachable === 0)
  await old.close()
  const moved = await Promise.all(
    fresh.sentinelNodes.map((n, i) => TcpProxy.listen({ target: n.address, host: '127.0.0.1', port: seeds[i]!.port })),
  )
  t.after(() => Promise.all(moved.map((f) => f.close())))
  await untilWatching(fresh.sentinelNodes, [1, 1, 1])
  assert.deepEqual(
    list
      .entries()
      .filter((e) => e.seed)
      .map((e) => e.address.port)
      .sort(),
    seeds.map((s) => s.port).sort(),
  )
})

test('watching: SENTINEL RESET and a changed quorum are heard as a reason to ask again', async (t) => {
  const topology = await start(t)
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await topology.sentinelNodes[0]!.command('SENTINEL', 'RESET', name)
  await heard.until(() => heard.events.some((e) => e.event === '+reset-master'))
  await topology.sentinelNodes[0]!.command('SENTINEL', 'SET', name, 'quorum', '1')
  await heard.until(() => heard.rechecks.filter((r) => r === 'reconfigured').length >= 2)
})
