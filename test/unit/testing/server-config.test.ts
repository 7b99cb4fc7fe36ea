import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConfigContext, dataConfig, sentinelConfig } from '../../../src/testing/server-config.js'
import { type LocalTopologyOptions, readTopologyOptions } from '../../../src/testing/topology-options.js'

const tlsFiles = { caFile: '/t/ca', certFile: '/t/cert', keyFile: '/t/key' }
const MASTERS = [{ name: 'cache-a', port: 7000 }]

function context(options: LocalTopologyOptions = {}): ConfigContext {
  return { settings: readTopologyOptions(options), adminPassword: 'admin-pw', tlsFiles: options.tls && tlsFiles }
}

function has(text: string, ...lines: string[]): void {
  const all = text.split('\n')
  for (const line of lines) assert.ok(all.includes(line), `'${line}' is not in\n${text}`)
}

describe('dataConfig', () => {
  it('keeps nothing on disk and has no password unless asked', () => {
    const text = dataConfig(context(), { port: 7000 })
    has(text, 'bind 127.0.0.1', 'port 7000', 'save ""', 'appendonly no')
    assert.doesNotMatch(text, /requirepass|user|replicaof|tls/)
  })

  it('makes a replica of its master and gives it a user to log in with', () => {
    const text = dataConfig(context({ password: 'p w"d' }), { port: 7001, masterPort: 7000 })
    has(text, 'replicaof 127.0.0.1 7000', 'masteruser local-topology', 'masterauth admin-pw', 'requirepass "p w\\"d"')
  })

  it('puts the users after its own and the extra lines last', () => {
    const options = { acl: ['app on #ab12 ~* +@read'], dataConfig: { maxclients: 50, save: ['60 1', '300 10'] } }
    const text = dataConfig(context(options), { port: 7000 })
    has(text, 'user local-topology on >admin-pw ~* &* +@all', 'user app on "#ab12" ~* +@read')
    assert.ok(text.endsWith('maxclients 50\nsave 60 1\nsave 300 10\n'))
  })

  it('closes the plain port when data nodes speak TLS', () => {
    const text = dataConfig(context({ tls: { data: true } }), { port: 7000 })
    has(text, 'port 0', 'tls-port 7000', 'tls-replication yes', 'tls-auth-clients no', 'tls-ca-cert-file /t/ca')
  })
})

describe('sentinelConfig', () => {
  it('monitors every master with the quorum and the times given', () => {
    const text = sentinelConfig(context({ downAfterMs: 500, failoverTimeoutMs: 3_000 }), { port: 8000 }, MASTERS)
    has(text, 'port 8000', 'sentinel monitor cache-a 127.0.0.1 7000 2')
    has(text, 'sentinel down-after-milliseconds cache-a 500', 'sentinel failover-timeout cache-a 3000')
    assert.doesNotMatch(text, /auth-user|sentinel-user|requirepass/)
  })

  it('puts the extra lines before the masters, where hostnames must be allowed', () => {
    const options = { sentinelConfig: { 'sentinel resolve-hostnames': 'yes' } }
    const text = sentinelConfig(context(options), { port: 8000 }, MASTERS)
    assert.ok(text.indexOf('sentinel resolve-hostnames yes') < text.indexOf('sentinel monitor'))
  })

  it('never gives the sentinels the passwords of the data nodes for themselves, nor the other way round', () => {
    const data = sentinelConfig(context({ password: 'data-pw' }), { port: 8000 }, MASTERS)
    has(data, 'sentinel auth-user cache-a local-topology', 'sentinel auth-pass cache-a admin-pw')
    assert.doesNotMatch(data, /requirepass|sentinel-user/)
    const own = sentinelConfig(context({ sentinelPassword: 'own-pw' }), { port: 8000 }, MASTERS)
    has(own, 'requirepass own-pw', 'sentinel sentinel-user local-topology', 'sentinel sentinel-pass admin-pw')
    assert.doesNotMatch(own, /auth-user/)
  })

  it('uses the login given for data nodes', () => {
    const options = { acl: ['s on >x +ping'], sentinelLogin: { username: 's', password: 'x' } }
    has(
      sentinelConfig(context(options), { port: 8000 }, MASTERS),
      'sentinel auth-user cache-a s',
      'sentinel auth-pass cache-a x',
    )
  })

  it('opens a door for peers where only one kind of server speaks TLS', () => {
    const node = { port: 8000, peerPort: 8001 }
    has(sentinelConfig(context({ tls: { data: true } }), node, MASTERS), 'port 8000', 'tls-port 8001')
    has(sentinelConfig(context({ tls: { sentinels: true } }), node, MASTERS), 'port 8001', 'tls-port 8000')
  })
})
