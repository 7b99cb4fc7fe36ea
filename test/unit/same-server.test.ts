import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Connection, isSameServer } from '../../src/redis-client.js'

const at = (host: string, port: number, ...ips: string[]) => ({ address: { host, port }, ips }) as unknown as Connection

test('same server: a name and an IP that lead to one address and port are one, whatever the spelling of either', () => {
  assert.ok(isSameServer(at('a.test', 1, '10.0.0.1'), at('10.0.0.1', 1, '10.0.0.1')))
  assert.ok(isSameServer(at('a.test', 1, '10.0.0.1'), at('b.test', 1, '::ffff:10.0.0.1')))
  assert.ok(isSameServer(at('a.test', 1, 'fe80:0::1', '10.0.0.1'), at('10.0.0.1', 1, '10.0.0.1')), 'one of each family')
})

test('same server: another port, another address, or a name that may be several servers is not', () => {
  assert.ok(!isSameServer(at('a.test', 1, '10.0.0.1'), at('a.test', 2, '10.0.0.1')))
  assert.ok(!isSameServer(at('a.test', 1, '10.0.0.1'), at('b.test', 1, '10.0.0.2')))
  assert.ok(!isSameServer(at('a.test', 1, '10.0.0.1', '10.0.0.2'), at('10.0.0.1', 1, '10.0.0.1')))
  assert.ok(!isSameServer(at('a.test', 1), at('b.test', 1)), 'nothing is known of either')
})
