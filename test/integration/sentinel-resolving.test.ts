import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { type Address, addressKey } from '../../src/address.js'
import { UnknownMasterError } from '../../src/errors.js'
import { ConnectionFactory } from '../../src/redis-client.js'
import type { MasterSource } from '../../src/sentinel/index.js'
import { LocalTopology, type LocalTopologyOptions } from '../../src/testing/index.js'
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

async function portOf(source: MasterSource, request: Parameters<MasterSource['resolve']>[1] = attempt()) {
  const startedAt = performance.now()
  const { address, connection, namedBy } = await source.resolve(name, request)
  connection.destroy()
  return { port: address.port, namedBy, ms: performance.now() - startedAt }
}

/** What a trouble costs a new resolver: its first attempt, less the same in health; each the best of three. */
async function costOf(t: TestContext, well: readonly Address[], ill: () => Promise<readonly Address[]>) {
  const best = async (seeds: readonly Address[]) => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 3; i++) least = Math.min(least, (await portOf(makeResolver(t, seeds))).ms)
    return least
  }
  const base = await best(well)
  return (await best(await ill())) - base
}

test('real sentinels: a frozen first one costs a start at most 100 ms', async (t) => {
  const topology = await start(t)
  const cost = await costOf(t, topology.sentinels, async () => {
    topology.sentinelNodes[0]!.freeze()
    return topology.sentinels
  })
  assert.ok(cost < 100, `${cost} ms`)
})

test('real sentinels: two dead ones of three cost a start at most 100 ms', async (t) => {
  const topology = await start(t)
  const cost = await costOf(t, topology.sentinels, async () => {
    await Promise.all([topology.sentinelNodes[0]!.kill(), topology.sentinelNodes[1]!.kill()])
    return topology.sentinels
  })
  assert.ok(cost < 100, `${cost} ms`)
})

test('real sentinels: a typo fails in the first round, and says what each one answered', async (t) => {
  const topology = await start(t)
  const startedAt = performance.now()
  await assert.rejects(makeResolver(t, topology.sentinels).resolve('typo', attempt()), (error: unknown) => {
    assert.ok(error instanceof UnknownMasterError)
    assert.equal(error.answers.length, 3)
    return true
  })
  assert.ok(performance.now() - startedAt < 290, 'no time-out was waited for')
})

test('real sentinels: a stale one, with the old master still writable, never leads back', async (t) => {
  const topology = await start(t)
  const [stale, ...others] = topology.sentinelNodes
  const resolver = makeResolver(t, topology.sentinels)
  await portOf(resolver)
  // Frozen while the others fail over, it wakes up with the old configuration.
  stale!.freeze()
  const { from, to } = await topology.failover(name, { until: 'agreed' })
  stale!.cont()
  const until = performance.now() + 1500
  let oldSaid = 0
  while (performance.now() < until) {
    const [known, fresh] = await Promise.all([portOf(resolver), portOf(makeResolver(t, topology.sentinels))])
    assert.deepEqual([known.port, fresh.port], [to.port, to.port])
    const reply = (await stale!.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as string[]
    if (Number(reply[1]) === from.port) oldSaid++
  }
  assert.equal(others.length, 2)
  t.diagnostic(`the stale sentinel named the old master in ${oldSaid} rounds`)
})

test("real sentinels: from the leader's selection on, the promoted node is verified before it is announced, and never left", async (t) => {
  const topology = await start(t)
  const resolver = makeResolver(t, topology.sentinels)
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await portOf(resolver)
  const from = await topology.currentMaster(name)
  const failing = topology.failover(name)
  await heard.until(() => heard.progress.some((p) => p.phase === 'selected'), 10_000)
  const { candidate } = heard.progress.find((p) => p.phase === 'selected')!
  const found = await resolver.followCandidate(name, candidate!, attempt())
  found.connection.destroy()
  const announced = heard.switches.length
  assert.equal(announced, 0)
  // All the time until the announcement the sentinels name the old master, which goes on saying master.
  while (heard.switches.length < 3) {
    assert.equal((await portOf(resolver)).port, found.address.port)
    const looked = (await resolver.lookup([name], attempt())).get(name)
    assert.ok(looked && !(looked instanceof Error))
    assert.equal(looked.address.port, found.address.port)
  }
  const { to } = await failing
  assert.equal(to.port, found.address.port)
  assert.notEqual(from.port, found.address.port)
  assert.match((await portOf(resolver)).namedBy, /^sentinel/)
})

test('real sentinels: after kill -9 the resolver finds the new master within 100 ms of the first switch message', async (t) => {
  const topology = await start(t, { replicas: 2 })
  const resolver = makeResolver(t, topology.sentinels)
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await portOf(resolver)
  await topology.killMaster(name)
  await heard.until(() => heard.switches.length > 0, 15_000)
  const { to, sentinel } = heard.switches[0]!
  const found = await portOf(resolver, { ...attempt(), hint: to, hintedBy: sentinel })
  assert.equal(found.port, to.port)
  assert.ok(found.ms < 100, `${found.ms} ms`)
})

test('real sentinels: a false switch message changes nothing', async (t) => {
  const topology = await start(t, { proxy: { sentinels: true } })
  const addresses = new Map(Object.entries(topology.addressMap))
  const mapAddress = (a: Address) => addresses.get(`${a.host}:${a.port}`) ?? a
  const resolver = makeResolver(t, topology.sentinels, { mapAddress })
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters, { mapAddress })
  await heard.until(() => watcher.reachable === 3)
  const master = await topology.currentMaster(name)
  await portOf(resolver)
  const replica = (await topology.replicas(name))[0]!
  const nowhere = { host: '127.0.0.1', port: 1 }
  for (const [i, lie] of [replica.address, nowhere, topology.sentinels[0]!].entries()) {
    assert.ok(topology.publishFalseSwitch(0, name, master.address, lie) > 0)
    await heard.until(() => heard.switches.length === i + 1)
    const { to, sentinel } = heard.switches[i]!
    assert.equal((await portOf(resolver, { ...attempt(), hint: to, hintedBy: sentinel })).port, master.port)
    await assert.rejects(resolver.followCandidate(name, to, attempt(300)))
  }
  assert.equal((await portOf(resolver)).port, master.port)
})

test('real sentinels: a master removed and monitored again elsewhere is found', async (t) => {
  const topology = await start(t, { replicas: 0, shards: [name, 'other'] })
  // A word of the same epoch is doubted for 5 s; the master known here is older than that.
  let laterMs = 0
  const resolver = makeResolver(t, topology.sentinels, { now: () => performance.now() + laterMs })
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  await portOf(resolver)
  const there = await topology.currentMaster('other')
  for (const sentinel of topology.sentinelNodes) await sentinel.command('SENTINEL', 'REMOVE', name)
  await assert.rejects(resolver.resolve(name, attempt()), UnknownMasterError)
  for (const sentinel of topology.sentinelNodes) {
    await sentinel.command('SENTINEL', 'MONITOR', name, there.host, String(there.port), '2')
  }
  await heard.until(() => heard.rechecks.includes('reconfigured'))
  laterMs = 6_000
  assert.equal((await portOf(resolver)).port, there.port)
})

test('real sentinels: replicas come and go with their link and their role', async (t) => {
  const topology = await start(t, { replicas: 2 })
  const resolver = makeResolver(t, topology.sentinels)
  const ports = async () => (await resolver.replicas(name, attempt())).map((a) => a.port).sort()
  const expected = (await topology.replicas(name)).map((n) => n.port).sort()
  assert.deepEqual(await ports(), expected)
  const { to } = await topology.failover(name, { until: 'agreed' })
  assert.ok(!(await ports()).includes(to.port))
})

test('real sentinels: everything on ::1', async (t) => {
  const topology = await start(t, { host: '::1' })
  const resolver = makeResolver(t, topology.sentinels)
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters)
  await heard.until(() => watcher.reachable === 3)
  const { from, to } = await topology.failover(name, { until: 'agreed' })
  await heard.until(() => heard.switches.length === 3)
  assert.deepEqual(heard.switches.map((s) => [addressKey(s.from), addressKey(s.to)])[0], [
    `::1|${from.port}`,
    `::1|${to.port}`,
  ])
  assert.equal((await portOf(resolver)).port, to.port)
  assert.equal(
    (await resolver.replicas(name, attempt())).every((a) => a.host === '::1'),
    true,
  )
})

/** The user that the Sentinel documentation gives to clients ("Sentinel Access Control List authentication"). */
const documentedAcl =
  'client on >client-secret -@all +auth +client|getname +client|id +client|setname +command +hello +ping +role ' +
  '+sentinel|get-master-addr-by-name +sentinel|master +sentinel|myid +sentinel|replicas +sentinel|sentinels'

test('real sentinels: the ACL of the documentation is enough; what it denies is reported once', async (t) => {
  const topology = await start(t, { sentinelAcl: [documentedAcl], acl: ['app on >app-secret ~* &* +@all -role -info'] })
  const sentinelFactory = new ConnectionFactory({ username: 'client', password: 'client-secret' })
  const wide = new ConnectionFactory({ username: 'app', password: 'app-secret' })
  const resolver = makeResolver(t, topology.sentinels, { sentinelFactory, dataFactory: wide })
  // Neither ROLE nor INFO: nothing can be proved, and that is said.
  await assert.rejects(resolver.resolve(name, attempt()), /NOPERM/)
  for (const node of topology.shards[0]!.nodes) await node.command('ACL', 'SETUSER', 'app', '+info')
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters, { sentinelFactory })
  await heard.until(() => heard.errors.length === 3)
  assert.equal(watcher.reachable, 0)
  assert.deepEqual(
    heard.states.map((s) => s.state),
    ['degraded'],
  )
  const { to } = await topology.failover(name, { until: 'agreed' })
  assert.equal((await portOf(resolver)).port, to.port)
  assert.equal(heard.errors.length, 3)
  assert.ok(heard.errors.every((e) => /NOPERM/.test(e.message) && !/secret/.test(e.message)))
})

test('real sentinels: with SUBSCRIBE on its channels added to that ACL the watcher hears', async (t) => {
  const topology = await start(t, {
    sentinelAcl: [`${documentedAcl} &+switch-master +subscribe`.replace('-@all', 'resetchannels -@all')],
  })
  const sentinelFactory = new ConnectionFactory({ username: 'client', password: 'client-secret' })
  const { heard, watcher } = makeWatcher(t, topology.sentinels, topology.masters, { sentinelFactory })
  await heard.until(() => watcher.reachable === 3)
  await topology.failover(name, { until: 'agreed' })
  await heard.until(() => heard.switches.length === 3)
  assert.equal(heard.errors.length, 0)
})

test('real sentinels: requirepass; a missing or wrong password is said per sentinel, and never the password', async (t) => {
  const topology = await start(t, { sentinelPassword: 'sentinel-secret', password: 'data-secret' })
  const dataFactory = new ConnectionFactory({ password: 'data-secret' })
  const right = new ConnectionFactory({ password: 'sentinel-secret' })
  const good = makeResolver(t, topology.sentinels, { sentinelFactory: right, dataFactory })
  assert.equal((await portOf(good)).port, (await topology.currentMaster(name)).port)
  for (const [factory, word] of [
    [new ConnectionFactory(), 'NOAUTH'],
    [new ConnectionFactory({ password: 'wrong-secret' }), 'WRONGPASS'],
  ] as const) {
    const bad = makeResolver(t, topology.sentinels, { sentinelFactory: factory, dataFactory })
    await assert.rejects(bad.resolve(name, attempt()), (error: Error & { answers?: { error?: string }[] }) => {
      assert.equal(error.name, 'SentinelsUnreachableError')
      assert.ok(
        error.answers?.every((a) => a.error?.startsWith(word)),
        error.message,
      )
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  }
  const wrongData = makeResolver(t, topology.sentinels, {
    sentinelFactory: right,
    dataFactory: new ConnectionFactory(),
  })
  await assert.rejects(wrongData.resolve(name, attempt()), { code: 'MASTER_UNREACHABLE', why: 'NOAUTH' })
})

for (const tls of [{ sentinels: true }, { data: true }, { sentinels: true, data: true }]) {
  test(`real sentinels: TLS on ${Object.keys(tls).join(' and ')}`, async (t) => {
    const topology = await start(t, { tls })
    const secure = new ConnectionFactory({ socket: { tls: true, ca: topology.tls!.ca } })
    const plain = new ConnectionFactory()
    const resolver = makeResolver(t, topology.sentinels, {
      sentinelFactory: 'sentinels' in tls ? secure : plain,
      dataFactory: 'data' in tls ? secure : plain,
    })
    assert.equal((await portOf(resolver)).port, (await topology.currentMaster(name)).port)
  })
}

test('real sentinels: a certificate for another name is refused, and the error says at which host', async (t) => {
  const topology = await start(t, { tls: { data: true, names: ['redis.test'] } })
  const make = (servername?: string) =>
    makeResolver(t, topology.sentinels, {
      dataFactory: new ConnectionFactory({
        socket: { tls: true, ca: topology.tls!.ca, ...(servername === undefined ? {} : { servername }) },
      }),
    })
  await assert.rejects(make().resolve(name, attempt()), (error: Error & { why?: string }) => {
    assert.match(error.message, /127\.0\.0\.1:\d+/)
    assert.match(String(error.why), /ALTNAME|CERT/)
    return true
  })
  assert.equal((await portOf(make('redis.test'))).port, (await topology.currentMaster(name)).port)
})
