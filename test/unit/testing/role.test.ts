import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRole } from '../../../src/testing/role.js'
import { parseSwitch } from '../../../src/testing/switch-message.js'

describe('parseRole', () => {
  it('reads a master with its replicas', () => {
    const reply = ['master', 120, [['127.0.0.1', '7001', '120']]]
    assert.deepEqual(parseRole(reply), { role: 'master', offset: 120, replicas: [7001] })
  })

  it('reads a replica with its link', () => {
    const role = parseRole(['slave', '::1', 7000, 'sync', -1])
    assert.deepEqual(role, { role: 'slave', masterPort: 7000, link: 'sync', offset: -1 })
  })

  it('reads a sentinel with its masters', () => {
    assert.deepEqual(parseRole(['sentinel', ['a', 'b']]), { role: 'sentinel', masters: ['a', 'b'] })
  })

  it('refuses anything else', () => {
    for (const reply of [null, 'OK', [], ['cluster']]) assert.throws(() => parseRole(reply), TypeError)
  })
})

describe('parseSwitch', () => {
  it('reads the five parts, also with IPv6', () => {
    assert.deepEqual(parseSwitch('cache-a ::1 7000 ::1 7001'), {
      name: 'cache-a',
      from: { host: '::1', port: 7000 },
      to: { host: '::1', port: 7001 },
    })
  })

  it('gives undefined for anything else', () => {
    for (const text of ['', 'cache-a', 'a b 1 c', 'a b 1 c 2 d']) assert.equal(parseSwitch(text), undefined)
  })
})
