// B025, B026: one login for sentinels and data nodes, none for discovered ones; AUTH and SELECT for data sent to sentinels.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { poolOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

const client = { username: 'app', password: 'data-pw', database: 2 } as const

it('a login and a database for data nodes stay away from sentinels without a password, and the database is used', async (t) => {
  const topology = await LocalTopology.start({ sentinels: 1, replicas: 0, acl: ['app on >data-pw ~* &* +@all'] })
  t.after(() => topology.close())
  const pool = poolOn(topology, { client })
  t.after(() => pool.destroy())
  await pool.connect()
  // A sentinel refuses a login it does not know, and SELECT, and with either of them the connection.
  await until('the subscription', () => pool.stats().sentinels[0]!.subscribed)
  await pool.set('k', 'v')
  const master = await topology.currentMaster('shard-0')
  assert.match(String(await master.command('INFO', 'keyspace')), /db2:keys=1/)
})

it('sentinels that are discovered get the login of sentinels, and serve when the seed is gone', async (t) => {
  const topology = await LocalTopology.start({ acl: ['app on >data-pw ~* &* +@all'], sentinelPassword: 'sentinel-pw' })
  t.after(() => topology.close())
  const pool = poolOn(topology, {
    client,
    sentinels: topology.sentinels.slice(0, 1),
    sentinelClient: { password: 'sentinel-pw' },
  })
  t.after(() => pool.destroy())
  await pool.connect()
  await until('three subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
  await topology.sentinelNodes[0]!.kill()
  const moved = nextEvent(pool, 'failover', { timeoutMs: 10_000 })
  const from = await topology.currentMaster('shard-0')
  await topology.sentinelNodes[1]!.command('SENTINEL', 'FAILOVER', 'shard-0')
  assert.equal((await moved).from?.port, from.port)
  assert.equal(await pool.set('k', 'v'), 'OK')
})
