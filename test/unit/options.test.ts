import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { InvalidOptionsError, ShardedSentinelPool } from '../../src/index.js'
import { DEFAULTS, readOptions } from '../../src/options.js'

const least = { masters: ['cache-a'], sentinels: ['127.0.0.1:26379'] }

function refused(options: object, option: string, message: RegExp): void {
  assert.throws(
    () => new ShardedSentinelPool(options as never),
    (error: unknown) => {
      assert.ok(error instanceof InvalidOptionsError, inspect(error))
      assert.equal(error.code, 'INVALID_OPTIONS')
      assert.equal(error.option, option)
      assert.match(error.message, message)
      return true
    },
  )
}

describe('options', () => {
  it('are complete and frozen after the check, with the documented defaults', () => {
    const settings = readOptions(least)
    const { pool, ...others } = DEFAULTS
    for (const [name, value] of Object.entries(others)) assert.equal(settings[name as keyof typeof others], value, name)
    assert.deepEqual({ ...settings.pool }, pool)
    assert.ok(Object.isFrozen(settings) && Object.isFrozen(settings.pool))
  })

  it('name an unknown option together with the nearest right one', () => {
    refused({ ...least, commandTimeout: 1 }, 'commandTimeout', /did you mean 'commandTimeoutMs'/)
    refused({ ...least, sentinel: [] }, 'sentinel', /did you mean 'sentinels'/)
    refused({ ...least, pool: { maximum: 3 } }, 'pool.maximum', /pool\.maximum/)
    refused({ ...least, masters: [{ name: 'a', wieght: 2 }] }, 'masters[0].wieght', /did you mean 'weight'/)
    refused({ ...least, retry: 'allways' }, 'retry', /did you mean 'always'/)
  })

  it('refuse a list of masters that no ring can be made of', () => {
    refused({ ...least, masters: [] }, 'masters', /at least one/)
    refused({ ...least, masters: undefined }, 'masters', /at least one/)
    refused({ ...least, masters: ['a', 'a'] }, 'masters[1].name', /twice/)
    refused({ ...least, masters: [' '] }, 'masters[0].name', /name/)
    refused({ ...least, masters: ['a b'] }, 'masters[0].name', /without spaces/)
    refused({ ...least, masters: [{ name: 'a', weight: -1 }] }, 'masters[0].weight', /weight/)
    refused({ ...least, masters: [{ name: 'a', weight: 0 }] }, 'masters', /weight 0/)
    refused({ ...least, masters: [7] }, 'masters[0]', /object/)
  })

  it('refuse every number outside its bounds, and say the bounds', () => {
    refused({ ...least, commandTimeoutMs: -1 }, 'commandTimeoutMs', /milliseconds from 50 to 2147483647/)
    refused({ ...least, commandTimeoutMs: Number.NaN }, 'commandTimeoutMs', /whole number/)
    refused({ ...least, sentinelTimeoutMs: 1.5 }, 'sentinelTimeoutMs', /whole number/)
    refused({ ...least, sharedConnections: 0 }, 'sharedConnections', /from 1 to 64/)
    refused({ ...least, pool: { max: 0 } }, 'pool.max', /from 1 to 10000/)
    refused({ ...least, pool: { min: 3, max: 2 } }, 'pool.min', /from 0 to 2/)
    assert.equal(readOptions({ ...least, commandTimeoutMs: 0 }).commandTimeoutMs, 0)
    assert.equal(readOptions({ ...least, pool: { max: 1 } }).pool.min, 1)
  })

  it('want exactly one way to find the masters', () => {
    refused({ masters: ['a'] }, 'sentinels', /missing/)
    refused({ masters: ['a'], sentinels: [] }, 'sentinels', /at least one/)
    refused({ ...least, resolver: { resolve() {} } }, 'sentinels', /one of/)
    refused({ masters: [{ name: 'a', host: 'h' }, 'b'] }, 'masters', /every master has a host or none/)
    refused({ masters: ['a'], resolver: {} }, 'resolver', /resolve/)
    assert.deepEqual(readOptions({ masters: [{ name: 'a', host: 'h' }] }).masters[0]?.address, {
      host: 'h',
      port: 6379,
    })
  })

  it('read sentinel addresses in every spelling and keep one of two that are the same', () => {
    const { sentinels } = readOptions({
      masters: ['a'],
      sentinels: ['h1', 'H1:26379', '[::1]:26380', { host: '::1', port: 26380 }, { host: 'h2' }],
    })
    assert.deepEqual(
      sentinels.map(({ host, port }) => `${host.toLowerCase()} ${port}`),
      ['h1 26379', '::1 26380', 'h2 26379'],
    )
    refused({ masters: ['a'], sentinels: ['::1:x'] }, 'sentinels[0]', /brackets/)
    refused({ masters: ['a'], sentinels: [{ host: 'h', port: 0 }] }, 'sentinels[0].port', /65535/)
  })

  it('refuse client options that the pool decides itself, and say why', () => {
    refused({ ...least, client: { url: 'redis://x' } }, 'client.url', /sentinels name the servers/)
    refused({ ...least, client: { socket: { host: 'x' } } }, 'client.socket.host', /decided by the pool/)
    refused({ ...least, client: { commandsQueueMaxLength: 10 } }, 'client.commandsQueueMaxLength', /use maxInFlight/)
    refused({ ...least, client: { clientSideCache: {} } }, 'client.clientSideCache', /cache/)
    refused({ ...least, sentinelClient: { url: 'redis://x' } }, 'sentinelClient.url', /sentinels/)
  })

  it('apply an address map given as a record or as a function, and leave other addresses alone', () => {
    const inside = { host: '172.17.0.2', port: 6379 }
    const byRecord = readOptions({ ...least, addressMap: { '172.17.0.2:6379': 'localhost:7001' } }).mapAddress
    const byFunction = readOptions({
      ...least,
      addressMap: ({ host, port }: { host: string; port: number }) =>
        host === '172.17.0.2' ? { host: 'localhost', port } : undefined,
    }).mapAddress
    assert.deepEqual(byRecord(inside), { host: 'localhost', port: 7001 })
    assert.deepEqual(byFunction(inside), { host: 'localhost', port: 6379 })
    assert.deepEqual(byRecord({ host: 'other', port: 1 }), { host: 'other', port: 1 })
    assert.deepEqual(byFunction({ host: 'other', port: 1 }), { host: 'other', port: 1 })
  })

  it('never show a password, however the pool is printed', () => {
    const pool = new ShardedSentinelPool({
      ...least,
      client: { username: 'app', password: 'data-secret' },
      sentinelClient: { password: 'sentinel-secret' },
    })
    const shown = [inspect(pool, { depth: 20, showHidden: true }), JSON.stringify(pool.stats()), String(pool)].join(
      '\n',
    )
    assert.doesNotMatch(shown, /secret/)
    assert.match(inspect(pool), /ShardedSentinelPool \{ cache-a idle \}/)
  })
})
