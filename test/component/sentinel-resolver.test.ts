import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import type { Address } from '../../src/address.js'
import {
  MasterUnreachableError,
  RoleMismatchError,
  SentinelsUnreachableError,
  UnknownMasterError,
} from '../../src/errors.js'
import { ConnectionFactory } from '../../src/redis-client.js'
import { type MasterSource, type NamedMaster, SentinelList } from '../../src/sentinel/index.js'
import { SentinelPanel } from '../../src/sentinel/panel.js'
import { FakeNode } from '../support/fake-node.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { attempt, makeResolver } from '../support/fake-sentinel-world.js'

const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))
after(() => assert.deepEqual(unhandled, []))

async function node(t: TestContext, role: 'master' | 'slave' = 'master'): Promise<FakeNode> {
  const fake = await FakeNode.listen(role)
  t.after(() => fake.close())
  return fake
}

/** One sentinel per entry, each naming `s0` as the entry says; null: it knows no `s0`. */
async function sentinels(
  t: TestContext,
  ...said: readonly ({ address: Address; epoch: number; replicas?: readonly Address[] } | null)[]
): Promise<FakeSentinel[]> {
  const fakes = await Promise.all(said.map((s) => FakeSentinel.listen(s === null ? {} : { s0: s })))
  t.after(() => Promise.all(fakes.map((f) => f.close())))
  return fakes
}

const at = (fakes: readonly FakeSentinel[]) => fakes.map((f) => f.address)

/** Resolves `s0`, gives the connection back and tells port and time. */
async function portOf(source: MasterSource, request: Parameters<MasterSource['resolve']>[1] = attempt()) {
  const startedAt = performance.now()
  const { address, connection, namedBy } = await source.resolve('s0', request)
  connection.destroy()
  return { port: address.port, namedBy, ms: performance.now() - startedAt }
}

async function deadPort(): Promise<Address> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return { host: '127.0.0.1', port }
}

test('resolver: a master that all sentinels name and that says so is verified, with its epoch', async (t) => {
  const a = await node(t)
  const fakes = await sentinels(t, { address: a.address, epoch: 4 }, { address: a.address, epoch: 4 })
  const found = await makeResolver(t, at(fakes)).resolve('s0', attempt())
  assert.deepEqual(found.address, a.address)
  assert.equal(found.configEpoch, 4)
  assert.match(found.namedBy, /^sentinel 127\.0\.0\.1:\d+$/)
  assert.equal(found.connection.ended, false)
  found.connection.destroy()
})

/**
 * What a trouble costs: the time of a new resolver's first attempt with it, less the same without, both the best of three,
 * since another process may have had the processor.
 */
async function costOf(t: TestContext, well: readonly Address[], ill: () => readonly Address[]): Promise<number> {
  const best = async (seeds: readonly Address[]) => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 3; i++) least = Math.min(least, (await portOf(makeResolver(t, seeds))).ms)
    return least
  }
  const base = await best(well)
  return (await best(ill())) - base
}

test('resolver: at start a frozen first sentinel costs at most 100 ms', async (t) => {
  const a = await node(t)
  const said = { address: a.address, epoch: 1 }
  const fakes = await sentinels(t, said, said, said)
  const cost = await costOf(t, at(fakes), () => {
    fakes[0]!.server.frozen = true
    return at(fakes)
  })
  assert.ok(cost < 100, `${cost} ms`)
})

test('resolver: at start two frozen sentinels of three cost at most 100 ms', async (t) => {
  const a = await node(t)
  const said = { address: a.address, epoch: 1 }
  const fakes = await sentinels(t, said, said, said)
  const cost = await costOf(t, at(fakes), () => {
    fakes[0]!.server.frozen = true
    fakes[1]!.server.frozen = true
    return at(fakes)
  })
  assert.ok(cost < 100, `${cost} ms`)
})

test('resolver: at start two refusing addresses of three cost at most 50 ms', async (t) => {
  const a = await node(t)
  const said = { address: a.address, epoch: 1 }
  const fakes = await sentinels(t, said, said, said)
  const dead = [await deadPort(), await deadPort()]
  const cost = await costOf(t, at(fakes), () => [...dead, fakes[2]!.address])
  assert.ok(cost < 50, `${cost} ms`)
})

test('resolver: a sentinel that freezes later costs at most 100 ms, and is not waited for again while it is known to be silent', async (t) => {
  const a = await node(t)
  const said = { address: a.address, epoch: 1 }
  const fakes = await sentinels(t, said, said)
  const first: number[] = []
  const later: number[] = []
  for (let i = 0; i < 3; i++) {
    const resolver = makeResolver(t, at(fakes))
    fakes[0]!.server.frozen = false
    await portOf(resolver)
    fakes[0]!.server.frozen = true
    first.push((await portOf(resolver)).ms)
    while (fakes[0]!.server.connections.size > 0) await new Promise((resolve) => setImmediate(resolve))
    later.push((await portOf(resolver)).ms)
    resolver.close()
  }
  assert.ok(Math.min(...first) < 150, `${first} ms`)
  assert.ok(Math.min(...later) < 50, `${later} ms`)
})

test('resolver: one null does not spoil, in whatever order', async (t) => {
  const a = await node(t)
  const fakes = await sentinels(t, null, { address: a.address, epoch: 1 })
  assert.equal((await portOf(makeResolver(t, at(fakes)))).port, a.address.port)
  assert.equal((await portOf(makeResolver(t, at(fakes).reverse()))).port, a.address.port)
})

test('resolver: a name nobody knows fails at once and lists every answer', async (t) => {
  const fakes = await sentinels(t, null, null, null)
  const resolver = makeResolver(t, at(fakes))
  await resolver.lookup(['other'], attempt())
  const startedAt = performance.now()
  await assert.rejects(resolver.resolve('typo', attempt()), (error: unknown) => {
    assert.ok(error instanceof UnknownMasterError)
    assert.equal(error.masterName, 'typo')
    assert.deepEqual(
      error.answers.map((a) => a.address),
      [null, null, null],
    )
    return true
  })
  assert.ok(performance.now() - startedAt < 290, 'no time-out was waited for')
})

test('resolver: no sentinel reachable is another error, with each reason', async (t) => {
  const [frozen] = await sentinels(t, null)
  frozen!.server.frozen = true
  const dead = await deadPort()
  await assert.rejects(makeResolver(t, [dead, frozen!.address]).resolve('s0', attempt()), (error: unknown) => {
    assert.ok(error instanceof SentinelsUnreachableError)
    assert.deepEqual(error.answers.map((a) => a.error).sort(), ['ECONNREFUSED', 'timeout'])
    return true
  })
})

test('resolver: where SENTINEL MASTER and ROLE are denied the plain questions do', async (t) => {
  const a = await node(t)
  a.denied.add('ROLE').add('PING')
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  for (const what of ['SENTINEL MASTER', 'SENTINEL MYID', 'SENTINEL REPLICAS']) fakes[0]!.denied.add(what)
  const found = await makeResolver(t, at(fakes)).resolve('s0', attempt())
  assert.equal(found.configEpoch, undefined)
  found.connection.destroy()
})

test('resolver: a node that says slave is refused, and no socket is left', async (t) => {
  const b = await node(t, 'slave')
  const fakes = await sentinels(t, { address: b.address, epoch: 1 })
  await assert.rejects(makeResolver(t, at(fakes)).resolve('s0', attempt()), (error: unknown) => {
    assert.ok(error instanceof RoleMismatchError)
    assert.equal(error.role, 'slave')
    return true
  })
  await untilNone(b)
})

test('resolver: a node that is loading, or busy, is not a master yet though ROLE says so', async (t) => {
  const a = await node(t)
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  const resolver = makeResolver(t, at(fakes))
  for (const word of ['LOADING', 'BUSY', 'MASTERDOWN']) {
    a.trouble = word
    await assert.rejects(resolver.resolve('s0', attempt()), { code: 'ROLE_MISMATCH', role: word })
  }
  a.trouble = undefined
  assert.equal((await portOf(resolver)).port, a.address.port)
})

test('resolver: a dead master is told with both its announced and its mapped address', async (t) => {
  const dead = await deadPort()
  const fakes = await sentinels(t, { address: { host: '10.9.9.9', port: 6379 }, epoch: 1 })
  await assert.rejects(
    makeResolver(t, at(fakes), { mapAddress: () => dead }).resolve('s0', attempt()),
    (error: unknown) => {
      assert.ok(error instanceof MasterUnreachableError)
      assert.equal(error.why, 'ECONNREFUSED')
      assert.match(error.message, new RegExp(`127.0.0.1:${dead.port} \\(announced as 10.9.9.9:6379\\)`))
      return true
    },
  )
})

test('resolver: a stale sentinel with an old master that still says master is outvoted by the epoch', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const fakes = await sentinels(
    t,
    { address: a.address, epoch: 1, replicas: [b.address] },
    { address: b.address, epoch: 2, replicas: [a.address] },
    { address: b.address, epoch: 2, replicas: [a.address] },
  )
  assert.equal((await portOf(makeResolver(t, at(fakes)))).port, b.address.port)
  assert.equal(a.server.accepted, 0)
})

test('resolver: the leader alone with the new epoch is believed at once, since the others know its node', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const old = { address: a.address, epoch: 1, replicas: [b.address] }
  const fakes = await sentinels(t, old, old, { address: b.address, epoch: 2, replicas: [a.address] })
  const request = { ...attempt(), hint: b.address, hintedBy: fakes[2]!.address }
  assert.equal((await portOf(makeResolver(t, at(fakes)), request)).port, b.address.port)
  assert.equal(a.server.accepted, 0)
})

test('resolver: one liar of three cannot lead to a stranger, whatever epoch it names', async (t) => {
  const [a, stranger] = [await node(t), await node(t)]
  const truth = { address: a.address, epoch: 1, replicas: [] }
  const fakes = await sentinels(t, { address: stranger.address, epoch: 99 }, truth, truth)
  assert.equal((await portOf(makeResolver(t, at(fakes)))).port, a.address.port)
  assert.equal(stranger.server.accepted, 0)
})

test('resolver: one liar of three with hidden epochs cannot either', async (t) => {
  const [a, stranger] = [await node(t), await node(t)]
  const truth = { address: a.address, epoch: 1, replicas: [] }
  const fakes = await sentinels(t, { address: stranger.address, epoch: 99 }, truth, truth)
  for (const fake of fakes) fake.denied.add('SENTINEL MASTER')
  assert.equal((await portOf(makeResolver(t, at(fakes)))).port, a.address.port)
  assert.equal(stranger.server.accepted, 0)
})

test('resolver: the last sentinel standing, isolated with the old master, moves nothing back', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const now = { address: b.address, epoch: 2, replicas: [a.address] }
  const fakes = await sentinels(t, { address: a.address, epoch: 1, replicas: [b.address] }, now, now)
  const resolver = makeResolver(t, at(fakes))
  assert.equal((await portOf(resolver)).port, b.address.port)
  await Promise.all([fakes[1]!.close(), fakes[2]!.close()])
  const again = await portOf(resolver)
  assert.equal(again.port, b.address.port)
  assert.equal(again.namedBy, 'verified before')
  const looked = await resolver.lookup(['s0'], attempt())
  assert.deepEqual(looked.get('s0'), { address: b.address, namedBy: 'verified before' })
  await b.close()
  await assert.rejects(resolver.resolve('s0', attempt()), MasterUnreachableError)
  assert.equal(a.server.accepted, 0)
})

test('resolver: once the verified master has been demoted, the word of the last sentinel counts', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const now = { address: b.address, epoch: 2, replicas: [a.address] }
  const fakes = await sentinels(t, { address: a.address, epoch: 1, replicas: [b.address] }, now, now)
  const resolver = makeResolver(t, at(fakes))
  await portOf(resolver)
  await Promise.all([fakes[1]!.close(), fakes[2]!.close()])
  b.role = 'slave'
  assert.equal((await portOf(resolver)).port, a.address.port)
})

test('resolver: a master removed and monitored again elsewhere, epoch 0, is followed after the time of doubt', async (t) => {
  const [b, c] = [await node(t), await node(t)]
  let now = 0
  const fakes = await sentinels(t, { address: b.address, epoch: 7 }, { address: b.address, epoch: 7 })
  const resolver = makeResolver(t, at(fakes), { now: () => now })
  await portOf(resolver)
  for (const fake of fakes) fake.masters.set('s0', { address: c.address, epoch: 0 })
  assert.equal((await portOf(resolver)).port, b.address.port)
  now += 5001
  assert.equal((await portOf(resolver)).port, c.address.port)
})

test('resolver: sixteen names take one connection and one round trip per sentinel', async (t) => {
  const a = await node(t)
  const names = Array.from({ length: 16 }, (_, i) => `m${i}`)
  const masters = Object.fromEntries(names.map((n) => [n, { address: a.address, epoch: 1 }]))
  const fakes = await Promise.all([FakeSentinel.listen(masters), FakeSentinel.listen(masters)])
  t.after(() => Promise.all(fakes.map((f) => f.close())))
  const resolver = makeResolver(t, at(fakes))
  const found = await Promise.all(names.map((n) => resolver.resolve(n, attempt())))
  for (const { connection } of found) connection.destroy()
  const looked = await resolver.lookup([...names, 'typo'], attempt())
  assert.equal([...looked.values()].filter((m) => !(m instanceof Error)).length, 16)
  assert.ok(looked.get('typo') instanceof UnknownMasterError)
  assert.deepEqual(
    fakes.map((f) => f.server.accepted),
    [1, 1],
  )
})

test('resolver: a brief lookup reads addresses alone while all name the verified master, and everything once one does not', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const said = { address: a.address, epoch: 3, replicas: [b.address] }
  const fakes = await sentinels(t, said, said, said)
  const resolver = makeResolver(t, at(fakes))
  const asked = () => fakes[0]!.server.commands.filter(([, word]) => word?.toUpperCase() === 'MASTER').length
  const brief = { ...attempt(), brief: true }
  await resolver.lookup(['s0'], brief)
  assert.equal(asked(), 1, 'nothing was verified before')
  await portOf(resolver)
  const known = asked()
  const { address, configEpoch } = (await resolver.lookup(['s0'], brief)).get('s0') as NamedMaster
  assert.deepEqual([address, configEpoch], [a.address, 3])
  assert.equal(asked(), known)
  for (const fake of fakes.slice(1)) fake.masters.set('s0', { address: b.address, epoch: 4, replicas: [a.address] })
  const moved = (await resolver.lookup(['s0'], brief)).get('s0') as NamedMaster
  assert.deepEqual([moved.address, moved.configEpoch], [b.address, 4])
  assert.ok(asked() > known)
})

test('resolver: a lookup during a frozen sentinel costs at most 100 ms', async (t) => {
  const a = await node(t)
  const said = { address: a.address, epoch: 1 }
  const fakes = await sentinels(t, said, said, said)
  const resolver = makeResolver(t, at(fakes))
  await resolver.lookup(['s0'], attempt())
  fakes[1]!.server.frozen = true
  const startedAt = performance.now()
  await resolver.lookup(['s0'], attempt())
  assert.ok(performance.now() - startedAt < 100)
})

test('resolver: an abort gives up at once and leaves no socket to the node', async (t) => {
  const a = await node(t)
  a.server.frozen = true
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  const abort = new AbortController()
  const resolving = makeResolver(t, at(fakes)).resolve('s0', { signal: abort.signal, timeoutMs: 60_000 })
  const rejected = assert.rejects(resolving, /enough/)
  while (a.server.connections.size === 0) await new Promise((resolve) => setImmediate(resolve))
  abort.abort(new Error('enough'))
  await rejected
  await untilNone(a)
})

test('resolver: a frozen master ends the attempt within its time-out', async (t) => {
  const a = await node(t)
  a.server.frozen = true
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  const startedAt = performance.now()
  await assert.rejects(makeResolver(t, at(fakes)).resolve('s0', attempt(250)), { why: 'ETIMEDOUT' })
  const took = performance.now() - startedAt
  assert.ok(took < 400, `${took} ms`)
  await untilNone(a)
})

test('resolver: an unused sentinel connection closes by itself, and close leaves none', async (t) => {
  const a = await node(t)
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  const resolver = makeResolver(t, at(fakes), { idleMs: 30 })
  await portOf(resolver)
  await untilNone(fakes[0]!)
  await portOf(resolver)
  resolver.close()
  resolver.close()
  await untilNone(fakes[0]!)
  await assert.rejects(resolver.resolve('s0', attempt()), SentinelsUnreachableError)
})

test('resolver: two seeds that are one sentinel have one vote', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const lie = { s0: { address: b.address, epoch: 1 } }
  const [one, two] = await Promise.all([FakeSentinel.listen(lie, 'same'), FakeSentinel.listen(lie, 'same')])
  const truth = { s0: { address: a.address, epoch: 1 } }
  const others = await Promise.all([FakeSentinel.listen(truth), FakeSentinel.listen(truth)])
  const fakes = [one, two, ...others]
  t.after(() => Promise.all(fakes.map((f) => f.close())))
  assert.equal((await portOf(makeResolver(t, at(fakes)))).port, a.address.port)
})

test('following: a selected node is taken in the moment it says master', async (t) => {
  const [a, b] = [await node(t), await node(t, 'slave')]
  b.master = a.address
  const said = { address: a.address, epoch: 1, flags: 'master,failover_in_progress', replicas: [b.address] }
  const fakes = await sentinels(t, said, said)
  const resolver = makeResolver(t, at(fakes))
  await portOf(resolver)
  const following = resolver.followCandidate('s0', b.address, attempt())
  while (b.server.commands.length < 6) await new Promise((resolve) => setImmediate(resolve))
  b.role = 'master'
  const promotedAt = performance.now()
  const found = await following
  assert.ok(performance.now() - promotedAt < 100)
  assert.deepEqual(found.address, b.address)
  assert.equal(found.namedBy, 'selected-slave')
  found.connection.destroy()
  const kept = await portOf(resolver)
  assert.equal(kept.port, b.address.port, 'the sentinels still name the old one, and that changes nothing')
})

test('following: a node that no sentinel has selected is refused, be it a master or not', async (t) => {
  const [a, stranger, old] = [await node(t), await node(t), await node(t)]
  const said = { address: a.address, epoch: 1, replicas: [old.address] }
  const fakes = await sentinels(t, said, said)
  const resolver = makeResolver(t, at(fakes))
  await portOf(resolver)
  for (const forged of [stranger, old]) {
    const startedAt = performance.now()
    await assert.rejects(resolver.followCandidate('s0', forged.address, attempt()), { code: 'ROLE_MISMATCH' })
    assert.ok(performance.now() - startedAt < 300)
    await untilNone(forged)
  }
  old.role = 'slave'
  const startedAt = performance.now()
  await assert.rejects(resolver.followCandidate('s0', old.address, attempt()), { code: 'ROLE_MISMATCH' })
  assert.ok(performance.now() - startedAt < 300, 'a refusal does not wait for the bound')
  assert.equal((await portOf(resolver)).port, a.address.port)
})

test('following: one that becomes master in a later failover than the one announced is not left for an older word', async (t) => {
  const [a, b, c] = [await node(t), await node(t), await node(t, 'slave')]
  const said = { address: a.address, epoch: 1, flags: 'master,failover_in_progress', replicas: [b.address, c.address] }
  const [leader, other] = (await sentinels(t, said, said)) as [FakeSentinel, FakeSentinel]
  const resolver = makeResolver(t, at([leader, other]))
  await portOf(resolver)
  const following = resolver.followCandidate('s0', c.address, attempt())
  await new Promise((resolve) => setTimeout(resolve, 400))
  // Meanwhile b was promoted in epoch 2, which only its leader knows, and c is on its way to epoch 3.
  leader.masters.set('s0', { ...said, address: b.address, epoch: 2, replicas: [a.address, c.address] })
  c.role = 'master'
  const found = await following
  found.connection.destroy()
  assert.equal((await portOf(resolver)).port, c.address.port, 'b is the master of epoch 2, and that is over')
})

test('following: one that says master from the first is taken when a sentinel names it, as it may be the master before', async (t) => {
  const [a, b] = [await node(t), await node(t)]
  const said = { address: a.address, epoch: 2, flags: 'master,failover_in_progress', replicas: [b.address] }
  const [leader, other] = (await sentinels(t, said, said)) as [FakeSentinel, FakeSentinel]
  const resolver = makeResolver(t, at([leader, other]))
  await portOf(resolver)
  await assert.rejects(resolver.followCandidate('s0', b.address, attempt(200)), { code: 'ROLE_MISMATCH' })
  await untilNone(b)
  const following = resolver.followCandidate('s0', b.address, attempt())
  // An epoch that has its master already names no other.
  other.masters.set('s0', { ...said, address: b.address })
  const early = await Promise.race([following.then(() => true), new Promise((resolve) => setTimeout(resolve, 150))])
  assert.equal(early, undefined)
  leader.masters.set('s0', { ...said, address: b.address, epoch: 3 })
  const found = await following
  found.connection.destroy()
  assert.equal((await portOf(resolver)).port, b.address.port)
})

test('following: a pool that closes while the sentinels are about to be asked leaves no rejection behind', async (t) => {
  const a = await node(t)
  const fakes = await sentinels(t, { address: a.address, epoch: 1 })
  const panel = new SentinelPanel({
    list: new SentinelList(at(fakes)),
    factory: new ConnectionFactory(),
    timeoutMs: 100,
    idleMs: 100,
    mapAddress: (address) => address,
    connectionName: undefined,
  })
  panel.close()
  const request = { timeoutMs: 100, signal: AbortSignal.abort(new Error('closed')) }
  await assert.rejects(
    panel.failover('s0', () => true, request),
    /closed/,
  )
  // What nobody handles is told at the end of this file.
  await new Promise((resolve) => setImmediate(resolve))
})

test('following: ends with its time-out when the node never becomes master', async (t) => {
  const [a, b] = [await node(t), await node(t, 'slave')]
  const said = { address: a.address, epoch: 1, flags: 'master,failover_in_progress', replicas: [b.address] }
  const fakes = await sentinels(t, said)
  const startedAt = performance.now()
  await assert.rejects(makeResolver(t, at(fakes)).followCandidate('s0', b.address, attempt(1_500)), { role: 'slave' })
  const took = performance.now() - startedAt
  assert.ok(took > 1_490 && took < 2_500, `${took} ms`)
  await untilNone(b)
})

test('replicas: the ones whose link is up and that follow this master; no flagged, promoted, syncing or strange one', async (t) => {
  const a = await node(t)
  const [good, promoted, syncing, stranger] = await Promise.all([
    FakeNode.listen('slave'),
    FakeNode.listen('master'),
    FakeNode.listen('slave'),
    FakeNode.listen('slave'),
  ])
  t.after(() => Promise.all([good, promoted, syncing, stranger].map((n) => n.close())))
  good.master = a.address
  syncing.master = a.address
  syncing.link = 'sync'
  stranger.master = { host: '127.0.0.1', port: 9 }
  const replicas = [good, promoted, syncing, stranger].map((n) => n.address)
  const fakes = await sentinels(t, { address: a.address, epoch: 1, replicas: [...replicas, await deadPort()] })
  assert.deepEqual(await makeResolver(t, at(fakes)).replicas('s0', attempt()), [good.address])
})

test('replicas: one that lags far behind the master, or behind another where the master is dead, is left out until it has caught up', async (t) => {
  const a = await node(t)
  const [near, far] = await Promise.all([FakeNode.listen('slave'), FakeNode.listen('slave')])
  t.after(() => Promise.all([near, far].map((n) => n.close())))
  for (const replica of [near, far]) replica.master = a.address
  a.offset = 10_000_000
  near.offset = 9_999_000
  far.offset = 8_000_000
  const fakes = await sentinels(t, { address: a.address, epoch: 1, replicas: [near.address, far.address] })
  const resolver = makeResolver(t, at(fakes))
  assert.deepEqual(await resolver.replicas('s0', attempt()), [near.address])
  await a.close()
  assert.deepEqual(await resolver.replicas('s0', attempt()), [near.address])
  far.offset = 9_999_000
  assert.deepEqual(await resolver.replicas('s0', attempt()), [near.address, far.address])
})

async function untilNone(fake: { server: { connections: ReadonlySet<unknown> } }): Promise<void> {
  const until = performance.now() + 1000
  while (fake.server.connections.size > 0) {
    assert.ok(performance.now() < until, 'a socket is left')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
