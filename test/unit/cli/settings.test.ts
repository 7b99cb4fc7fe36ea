import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readFlags } from '../../../src/cli/flags.js'
import { readConfigFile, readSettings, SETTINGS_FLAGS } from '../../../src/cli/settings.js'

const folder = mkdtempSync(join(tmpdir(), 'cli-settings-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const read = (args: string[], env: Record<string, string> = {}) =>
  readSettings(readFlags(args, SETTINGS_FLAGS).flags, env)

describe('settings', () => {
  it('come from flags alone', async () => {
    assert.deepEqual(await read(['--masters', 'a,b:2', '--sentinels', 'h:1,[::1]:2', '--preset', 'jedis']), {
      masters: ['a', { name: 'b', weight: 2 }],
      sentinels: ['h:1', '[::1]:2'],
      ring: { preset: 'jedis' },
    })
  })

  it('come from the environment alone, credentials included, each for its own kind of server', async () => {
    const options = await read([], {
      SHARDED_SENTINEL_POOL_MASTERS: 'a',
      SHARDED_SENTINEL_POOL_SENTINELS: 'h:1',
      SHARDED_SENTINEL_POOL_USERNAME: 'app',
      SHARDED_SENTINEL_POOL_PASSWORD: 'p',
      SHARDED_SENTINEL_POOL_SENTINEL_PASSWORD: 'q',
    })
    assert.deepEqual(options.client, { username: 'app', password: 'p' })
    assert.deepEqual(options.sentinelClient, { password: 'q' })
  })

  it('a flag wins over the environment, and that over the file', async () => {
    const config = file('a.json', '{"masters":["file"],"sentinels":["file:1"],"commandTimeoutMs":77}')
    const env = { SHARDED_SENTINEL_POOL_MASTERS: 'env', SHARDED_SENTINEL_POOL_SENTINELS: 'env:1' }
    const options = await read(['--config', config, '--masters', 'flag'], env)
    assert.deepEqual(options, { masters: ['flag'], sentinels: ['env:1'], commandTimeoutMs: 77 })
  })

  it('credentials of flags are added to the client options of the file', async () => {
    const config = file('b.json', '{"masters":["a"],"sentinels":["h:1"],"client":{"database":3}}')
    const ca = file('ca.pem', 'PEM')
    const { client } = await read(['-c', config, '--password', 'p', '--tls', '--ca', ca])
    assert.deepEqual(client, { database: 3, password: 'p', socket: { tls: true, ca: 'PEM' } })
  })

  it('an address map is read pair by pair', async () => {
    const options = await read(['-m', 'a', '-s', 'h:1', '--address-map', '10.0.0.5:6379=127.0.0.1:7001'])
    assert.deepEqual(options.addressMap, { '10.0.0.5:6379': '127.0.0.1:7001' })
    await assert.rejects(read(['-m', 'a', '--address-map', 'nonsense']), /--address-map wants from=to/)
  })

  it('without any, the ways to give them are told', async () => {
    await assert.rejects(read([]), /--masters and --sentinels, --config <file>, or SHARDED_SENTINEL_POOL_MASTERS/)
  })
})

describe('config file', () => {
  const options = { masters: ['a'] }
  it('may be JSON, an ES module or a CommonJS module', async () => {
    assert.deepEqual(await readConfigFile(file('c.json', '{"masters":["a"]}')), options)
    assert.deepEqual(await readConfigFile(file('c.mjs', 'export default { masters: ["a"] }')), options)
    assert.deepEqual(await readConfigFile(file('d.mjs', 'export const options = { masters: ["a"] }')), options)
    assert.deepEqual(await readConfigFile(file('c.cjs', 'module.exports = { masters: ["a"] }')), options)
    const compiled =
      'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = { masters: ["a"] }'
    assert.deepEqual(await readConfigFile(file('d.cjs', compiled)), options)
  })

  it('that is missing, broken, or holds something else is named in one sentence', async () => {
    await assert.rejects(readConfigFile(join(folder, 'none.json')), /none\.json cannot be read: ENOENT/)
    await assert.rejects(readConfigFile(file('e.json', '{')), /e\.json is no JSON/)
    await assert.rejects(readConfigFile(file('f.json', '[]')), /must hold an object/)
    await assert.rejects(readConfigFile(file('g.mjs', 'throw new Error("no")')), /g\.mjs cannot be loaded: no/)
    await assert.rejects(readConfigFile(file('h.yaml', '')), /must end in \.json, \.js, \.mjs or \.cjs/)
  })
})
