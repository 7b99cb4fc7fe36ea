import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { ConnectionFactory } from '../../src/redis-client.js'
import { SentinelWatchError } from '../../src/sentinel/index.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { makeWatcher } from '../support/fake-sentinel-world.js'

const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))
after(() => assert.deepEqual(unhandled, []))

const A = { host: '10.0.0.1', port: 6001 }
const B = { host: '10.0.0.1', port: 6002 }

async function sentinel(t: TestContext, runId?: string): Promise<FakeSentinel> {
  const fake = await FakeSentinel.listen({ s1: { address: A, epoch: 1 } }, runId)
  t.after(() => fake.close())
  return fake
}

const ms = (since: number) => performance.now() - since

test('watcher: subscribes to its channels by name and asks for everything again once that is acknowledged', async (t) => {
  const fake = await sentinel(t)
  const { heard, watcher } = makeWatcher(t, [fake.address], ['s1'])
  await heard.until(() => heard.rechecks.length === 1)
  assert.equal(fake.subscribers, 1)
  assert.equal(watcher.reachable, 1)
  assert.deepEqual(heard.states, [{ state: 'watching', reachable: 1, known: 1 }])
  const verbs = new Set(fake.server.commands.map((c) => c[0]))
  assert.ok(verbs.has('SUBSCRIBE') && !verbs.has('PSUBSCRIBE') && !verbs.has('SELECT') && !verbs.has('AUTH'))
})

test('watcher: matches the exact master name and maps every address', async (t) => {
  const fake = await sentinel(t)
  const mapAddress = (a: { host: string; port: number }) => ({ host: 'mapped', port: a.port + 10_000 })
  const { heard } = makeWatcher(t, [fake.address], ['s1'], { mapAddress })
  await heard.until(() => heard.rechecks.length === 1)
  fake.publish('+switch-master', 's10 10.0.0.1 6001 10.0.0.1 6009')
  fake.publish('+switch-master', 's 10.0.0.1 6001 10.0.0.1 6009')
  fake.publish('+switch-master', 'complete nonsense')
  fake.publish('+selected-slave', 'slave 10.0.0.1:6002 10.0.0.1 6002 @ s1 10.0.0.1 6001')
  fake.publish('+switch-master', 's1 10.0.0.1 6001 10.0.0.1 6002')
  await heard.until(() => heard.switches.length === 1)
  const at = (port: number) => ({ host: 'mapped', port })
  assert.deepEqual(heard.progress, [{ name: 's1', phase: 'selected', candidate: at(16002) }])
  assert.deepEqual(heard.switches, [{ name: 's1', from: at(16001), to: at(16002), sentinel: fake.address }])
  assert.deepEqual(
    heard.events.map((e) => [e.event, e.masterName, e.message.split(' ')[0]]),
    [
      ['+selected-slave', 's1', 'slave'],
      ['+switch-master', 's1', 's1'],
    ],
  )
})

test('watcher: a master monitored anew is asked for again, and tilt is passed on', async (t) => {
  const fake = await sentinel(t)
  const { heard } = makeWatcher(t, [fake.address], ['s1'])
  await heard.until(() => heard.rechecks.length === 1)
  fake.publish('+tilt', '#tilt mode entered')
  fake.publish('+monitor', 'master s1 10.0.0.1 6001 quorum 2')
  await heard.until(() => heard.rechecks.length === 2)
  assert.deepEqual(heard.rechecks, ['watch-gap', 'reconfigured'])
  assert.deepEqual(
    heard.events.map((e) => [e.event, e.masterName]),
    [
      ['+tilt', ''],
      ['+monitor', 's1'],
    ],
  )
})

test('watcher: a cut subscription is back within a second and everything is asked again', async (t) => {
  const fake = await sentinel(t)
  const { heard } = makeWatcher(t, [fake.address], ['s1'])
  await heard.until(() => heard.rechecks.length === 1)
  for (let i = 2; i <= 4; i++) {
    const cutAt = performance.now()
    for (const connection of fake.server.connections) connection.destroy()
    await heard.until(() => heard.rechecks.length === i)
    assert.ok(ms(cutAt) < 1000)
    assert.equal(fake.subscribers, 1)
  }
  assert.deepEqual(
    heard.states.map((s) => s.state),
    ['watching', 'degraded', 'watching', 'degraded', 'watching', 'degraded', 'watching'],
  )
})

test('watcher: a silently dead subscription is replaced within heartbeatMs + 1 s', async (t) => {
  const fake = await sentinel(t)
  const { heard } = makeWatcher(t, [fake.address], ['s1'], { heartbeatMs: 400, timeoutMs: 300 })
  await heard.until(() => heard.rechecks.length === 1)
  const frozenAt = performance.now()
  fake.server.frozen = true
  await heard.until(() => heard.errors.length === 1)
  assert.ok(ms(frozenAt) < 600, 'noticed within one heartbeat')
  fake.server.frozen = false
  await heard.until(() => heard.rechecks.length === 2)
  assert.ok(ms(frozenAt) < 1400)
})

test('watcher: an outage is one report and one state, however many attempts it takes', async (t) => {
  const fake = await sentinel(t)
  const { heard, watcher } = makeWatcher(t, [fake.address], ['s1'])
  await heard.until(() => heard.rechecks.length === 1)
  await fake.close()
  await heard.until(() => heard.states.length === 2)
  await fake.server.listen()
  const backAt = performance.now()
  await heard.until(() => heard.rechecks.length === 2)
  assert.ok(ms(backAt) < 3000)
  assert.equal(heard.errors.length, 1)
  assert.ok(heard.errors[0] instanceof SentinelWatchError)
  assert.equal(watcher.reachable, 1)
  assert.deepEqual(
    heard.states.map((s) => s.state),
    ['watching', 'degraded', 'watching'],
  )
})

test('watcher: sentinels that a sentinel tells of join, also while it runs', async (t) => {
  const [one, two, three] = [await sentinel(t, 'r1'), await sentinel(t, 'r2'), await sentinel(t, 'r3')]
  one.peers.push({ address: two.address, runId: 'r2' })
  const { heard, watcher } = makeWatcher(t, [one.address], ['s1'])
  await heard.until(() => watcher.reachable === 2)
  one.publish('+sentinel', `sentinel r3 ${three.address.host} ${three.address.port} @ s1 10.0.0.1 6001`)
  await heard.until(() => watcher.reachable === 3)
  assert.deepEqual(
    [one, two, three].map((s) => s.subscribers),
    [1, 1, 1],
  )
})

test('watcher: a seed and a peer that are one sentinel have one subscription', async (t) => {
  const [one, two] = [await sentinel(t, 'r1'), await sentinel(t, 'r2')]
  one.peers.push({ address: { host: '127.0.0.1', port: two.address.port }, runId: 'r2' })
  two.peers.push({ address: { host: '127.0.0.1', port: one.address.port }, runId: 'r1' })
  const seeds = [one.address, two.address].map((a) => ({ host: 'localhost', port: a.port }))
  const { heard, watcher, list } = makeWatcher(t, seeds, ['s1'])
  await heard.until(() => watcher.reachable === 2 && list.size === 2)
  await untilEqual(() => [one.subscribers, two.subscribers], [1, 1])
  assert.deepEqual(
    list.entries().map((e) => e.seed),
    [true, true],
  )
})

test('watcher: where SUBSCRIBE is denied there is one report and no flood', async (t) => {
  const fake = await sentinel(t)
  fake.denied.add('SUBSCRIBE')
  const { heard } = makeWatcher(t, [fake.address], ['s1'])
  await heard.until(() => heard.errors.length === 1)
  assert.match(heard.errors[0]!.message, /NOPERM/)
  await untilEqual(() => fake.server.connections.size, 0)
  assert.equal(fake.server.accepted, 1)
  assert.deepEqual(
    heard.states.map((s) => s.state),
    ['degraded'],
  )
})

test('watcher: where everything but SUBSCRIBE is denied it still hears the switch', async (t) => {
  const fake = await sentinel(t)
  for (const what of ['SENTINEL MYID', 'SENTINEL SENTINELS', 'PING']) fake.denied.add(what)
  const { heard } = makeWatcher(t, [fake.address], ['s1'], { heartbeatMs: 100 })
  await heard.until(() => heard.rechecks.length === 1)
  fake.publish('+switch-master', `s1 ${A.host} ${A.port} ${B.host} ${B.port}`)
  await heard.until(() => heard.switches.length === 1)
  await untilEqual(() => fake.server.commands.filter((c) => c[0] === 'PING').length >= 2, true)
  assert.equal(heard.errors.length, 0)
})

test('watcher: hears with RESP2 as well', async (t) => {
  const fake = await sentinel(t)
  const sentinelFactory = new ConnectionFactory({ RESP: 2 })
  const { heard } = makeWatcher(t, [fake.address], ['s1'], { sentinelFactory, heartbeatMs: 100 })
  await heard.until(() => heard.rechecks.length === 1)
  fake.publish('+switch-master', `s1 ${A.host} ${A.port} ${B.host} ${B.port}`)
  await heard.until(() => heard.switches.length === 1)
})

test('watcher: a callback that throws harms nothing', async (t) => {
  const fake = await sentinel(t)
  const { heard, watcher } = makeWatcher(t, [fake.address], ['s1'])
  const loud = makeWatcher(t, [fake.address], ['s1'], {
    callbacks: {
      ...heard.callbacks,
      onSwitch: () => {
        throw new Error('mine')
      },
    },
  })
  await heard.until(() => loud.watcher.reachable === 1 && watcher.reachable === 1)
  fake.publish('+switch-master', `s1 ${A.host} ${A.port} ${B.host} ${B.port}`)
  await heard.until(() => heard.switches.length === 1)
  assert.equal(loud.watcher.reachable, 1)
})

test('watcher: close leaves no socket and says nothing more, also while it connects', async (t) => {
  const fake = await sentinel(t)
  const one = makeWatcher(t, [fake.address], ['s1'])
  const two = makeWatcher(t, [fake.address], ['s1'])
  two.watcher.close()
  await one.heard.until(() => one.heard.rechecks.length === 1)
  one.watcher.close()
  one.watcher.close()
  fake.publish('+switch-master', `s1 ${A.host} ${A.port} ${B.host} ${B.port}`)
  await untilEqual(() => fake.server.connections.size, 0)
  assert.equal(one.heard.switches.length + two.heard.rechecks.length + two.heard.errors.length, 0)
})

async function untilEqual<T>(actual: () => T, expected: T): Promise<void> {
  const until = performance.now() + 2000
  while (JSON.stringify(actual()) !== JSON.stringify(expected) && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.deepEqual(actual(), expected)
}
