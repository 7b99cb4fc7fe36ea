import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addressKey, formatAddress, parseAddress, sameAddress } from '../../src/address.js'

describe('address', () => {
  it('is read from text in every usual spelling', () => {
    assert.deepEqual(parseAddress('10.0.0.1:26380', 26379), { host: '10.0.0.1', port: 26380 })
    assert.deepEqual(parseAddress('sentinel.example.com', 26379), { host: 'sentinel.example.com', port: 26379 })
    assert.deepEqual(parseAddress('[::1]:26380', 26379), { host: '::1', port: 26380 })
    assert.deepEqual(parseAddress('[fe80::1]', 26379), { host: 'fe80::1', port: 26379 })
    assert.deepEqual(parseAddress('::1', 26379), { host: '::1', port: 26379 })
  })

  it('is refused where the text is none', () => {
    for (const text of [
      '',
      ' ',
      'host:',
      'host:0',
      'host:65536',
      'host:12ab',
      'a b:1',
      '[host]:1',
      'redis://h:1',
      '[::1:1',
    ]) {
      assert.equal(parseAddress(text, 1), undefined, text)
    }
  })

  it('prints IPv6 in brackets, and what it prints it reads', () => {
    for (const address of [
      { host: '::1', port: 1 },
      { host: '10.0.0.1', port: 65535 },
      { host: 'cache-a', port: 6379 },
    ]) {
      assert.deepEqual(parseAddress(formatAddress(address), 9), address)
    }
    assert.equal(formatAddress({ host: 'fe80::2', port: 80 }), '[fe80::2]:80')
  })

  it('takes two spellings of one server for one', () => {
    const same: [string, string][] = [
      ['::1', '0:0:0:0:0:0:0:1'],
      ['2001:DB8::1', '2001:db8:0:0::1'],
      ['::ffff:10.0.0.1', '10.0.0.1'],
      ['Cache-A.example.com', 'cache-a.example.com.'],
    ]
    for (const [a, b] of same) {
      assert.ok(sameAddress({ host: a, port: 1 }, { host: b, port: 1 }), `${a} and ${b}`)
      assert.equal(addressKey({ host: a, port: 1 }), addressKey({ host: b, port: 1 }))
    }
  })

  it('tells different servers apart', () => {
    assert.ok(!sameAddress({ host: '10.0.0.1', port: 1 }, { host: '10.0.0.1', port: 2 }))
    assert.ok(!sameAddress({ host: '10.0.0.1', port: 1 }, { host: '10.0.0.2', port: 1 }))
    assert.ok(!sameAddress({ host: '::1', port: 1 }, { host: '127.0.0.1', port: 1 }))
  })
})
