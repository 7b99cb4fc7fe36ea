import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as replies from '../../../src/sentinel/replies.js'

const {
  readFields,
  readInfoReplication,
  readInstance,
  readInstanceMessage,
  readInstances,
  readMasterAddress,
  readRole,
  readSwitchMessage,
  readText,
} = replies

const bytes = (text: string) => Buffer.from(text)

test('replies: a text comes as string, bytes or String object', () => {
  assert.equal(readText('a'), 'a')
  assert.equal(readText(bytes('ä')), 'ä')
  assert.equal(readText(new Uint8Array([97])), 'a')
  assert.equal(readText(Object('verbatim')), 'verbatim')
  assert.equal(readText(1), undefined)
})

test('replies: get-master-addr-by-name is an address, null for unknown, undefined for nonsense', () => {
  assert.deepEqual(readMasterAddress(['10.0.0.1', '6379']), { host: '10.0.0.1', port: 6379 })
  assert.deepEqual(readMasterAddress([bytes('::1'), bytes('6379')]), { host: '::1', port: 6379 })
  assert.equal(readMasterAddress(null), null)
  for (const nonsense of [
    undefined,
    [],
    ['h'],
    ['h', '0'],
    ['h', '65536'],
    ['', '1'],
    ['a b', '1'],
    ['h', '1.5'],
    'h:1',
  ]) {
    assert.equal(readMasterAddress(nonsense), undefined)
  }
})

test('replies: ROLE of a master names its replicas', () => {
  assert.deepEqual(readRole(['master', 3129659, [['127.0.0.1', '9001', '3129242'], ['::1', '9002', '3129543'], 'x']]), {
    role: 'master',
    replicas: [
      { host: '127.0.0.1', port: 9001 },
      { host: '::1', port: 9002 },
    ],
    offset: 3129659,
  })
})

test('replies: ROLE of a replica tells its master, link and offset', () => {
  assert.deepEqual(readRole([bytes('slave'), bytes('h'), 9000, bytes('connected'), 77]), {
    role: 'slave',
    master: { host: 'h', port: 9000 },
    link: 'connected',
    offset: 77,
  })
  assert.deepEqual(readRole(['slave', 'h', 9000, 'sync', -1n])?.role, 'slave')
})

test('replies: ROLE of a sentinel is told apart', () => {
  assert.deepEqual(readRole(['sentinel', ['a', 'b']]), { role: 'sentinel', masterNames: ['a', 'b'] })
  assert.equal(readRole(['king']), undefined)
  assert.equal(readRole('master'), undefined)
})

test('replies: INFO replication says the same where ROLE is denied', () => {
  const master =
    '# Replication\r\nrole:master\r\nconnected_slaves:1\r\nslave0:ip=::1,port=7002,state=online,offset=1,lag=0\r\nmaster_repl_offset:9\r\n'
  assert.deepEqual(readInfoReplication(master), {
    role: 'master',
    replicas: [{ host: '::1', port: 7002 }],
    offset: 9,
  })
  const slave =
    'role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\nmaster_link_status:up\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:5\r\n'
  assert.deepEqual(readInfoReplication(bytes(slave)), {
    role: 'slave',
    master: { host: '10.0.0.1', port: 6379 },
    link: 'connected',
    offset: 5,
  })
  const syncing = slave.replace('in_progress:0', 'in_progress:1')
  assert.equal((readInfoReplication(syncing) as { link: string }).link, 'connect')
  assert.equal(readInfoReplication('# Server\r\n'), undefined)
})

test('replies: a field list is the same flat, as object and as Map', () => {
  const flat = [
    'name',
    's0',
    'ip',
    '::1',
    'port',
    '7000',
    'runid',
    'abc',
    'flags',
    'master,o_down',
    'config-epoch',
    '3',
  ]
  const pairs = new Map<string, string>()
  for (let i = 0; i < flat.length; i += 2) pairs.set(flat[i]!, flat[i + 1]!)
  const expected = {
    address: { host: '::1', port: 7000 },
    runId: 'abc',
    flags: new Set(['master', 'o_down']),
    configEpoch: 3,
    masterLinkStatus: undefined,
    master: undefined,
  }
  assert.deepEqual(readInstance(flat), expected)
  assert.deepEqual(readInstance(pairs), expected)
  assert.deepEqual(readInstance(Object.fromEntries(pairs)), expected)
  assert.deepEqual(readInstance(flat.map(bytes)), expected)
  assert.equal(readFields(['odd']), undefined)
})

test('replies: instances that make no sense are left out of a list', () => {
  const good = {
    ip: 'h',
    port: '1',
    flags: 'slave',
    'master-link-status': 'ok',
    'master-host': 'm',
    'master-port': '2',
  }
  assert.deepEqual(
    readInstances([good, null, {}, { ...good, port: 'x' }])?.map((i) => [i.address.port, i.master?.host]),
    [[1, 'm']],
  )
  assert.equal(readInstances({}), undefined)
})

test('replies: a switch message has five words, IPv6 included', () => {
  assert.deepEqual(readSwitchMessage('s0 10.0.0.1 6379 10.0.0.2 6380'), {
    masterName: 's0',
    from: { host: '10.0.0.1', port: 6379 },
    to: { host: '10.0.0.2', port: 6380 },
  })
  assert.deepEqual(readSwitchMessage('s0 ::1 17001 fe80::1%eth0 17002')?.to, { host: 'fe80::1%eth0', port: 17002 })
  for (const nonsense of [
    '',
    's0',
    's0 h 1 h',
    's0 h 1 h 0',
    ' h 1 h 2',
    's0 h 1 h 2 3',
    's0  h 1 h 2',
    'my shard h 1 h 2',
  ]) {
    assert.equal(readSwitchMessage(nonsense), undefined)
  }
})

test('replies: an instance message names its subject and the master concerned', () => {
  assert.deepEqual(readInstanceMessage('slave ::1:7002 ::1 7002 @ s0 ::1 7001'), {
    type: 'slave',
    name: '::1:7002',
    address: { host: '::1', port: 7002 },
    masterName: 's0',
    masterAddress: { host: '::1', port: 7001 },
    rest: '',
  })
  const monitored = readInstanceMessage('master s1 10.0.0.1 6379 quorum 2')
  assert.deepEqual([monitored?.masterName, monitored?.rest], ['s1', 'quorum 2'])
  for (const nonsense of [
    '',
    'slave a b c',
    '#tilt mode entered',
    'slave n h 1',
    'slave n h 1 @',
    'slave n h 1 @ s0 h',
    'x n h 1',
  ]) {
    assert.equal(readInstanceMessage(nonsense), undefined)
  }
})

test('replies: no reader throws on any reply, however it is made', () => {
  const readers = Object.values(replies).filter((r) => r.length <= 1) as ((value: unknown) => unknown)[]
  assert.ok(readers.length >= 9)
  const anything = fc.anything({ withMap: true, withTypedArray: true, withBigInt: true, withNullPrototype: true })
  fc.assert(
    fc.property(anything, (value) => {
      for (const read of readers) read(value)
    }),
    { numRuns: 2000 },
  )
})

test('replies: no reader throws on words shaped like the true ones', () => {
  const word = fc.oneof(fc.constantFrom('master', 'slave', 'sentinel', '@', '::1', '7001', '', 's0', '#'), fc.string())
  const texts = fc.array(word, { maxLength: 10 })
  fc.assert(
    fc.property(texts, (words) => {
      const message = words.join(' ')
      readSwitchMessage(message)
      readInstanceMessage(message)
      readRole(words)
      readInstance(words)
      readInfoReplication(words.join(':'))
    }),
    { numRuns: 2000 },
  )
})
