// N030, N031, N032, N033, N034, N035, N036: what a connection was set up with, and was lost, kept or shown when it was made anew.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { PoolOptions } from '../../src/options.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { poolClients, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

describe('a connection made anew', () => {
  let topology: LocalTopology
  let pools: TestPool[] = []
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a'] })
  })
  after(async () => {
    for (const pool of pools) pool.destroy()
    await topology.close()
  })
  const master = () => topology.currentMaster('cache-a')
  const open = async (options: Partial<PoolOptions> = {}) => {
    const pool = poolOn(topology, { placementGuard: 'off', commandTimeoutMs: 3_000, ...options })
    pools = [...pools, pool]
    await pool.connect()
    return pool
  }
  /** Cuts the pool's connections, and waits until it has noticed. */
  const cut = async (pool: TestPool, node: TopologyNode) => {
    const { reconnects } = pool.stats().shards[0]!
    await node.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until('the reconnect', () => pool.stats().shards[0]!.reconnects > reconnects && pool.isReady)
  }

  it('N030, N031: is in the same database and has its name again, after a cut and after a failover', async () => {
    const pool = await open({ client: { database: 3 }, name: 'my-app' })
    const written = async (value: string) => {
      const node = await master()
      assert.equal(await pool.set('db', value), 'OK')
      assert.equal(await pool.use('db', (client) => client.get('db')), value)
      assert.equal(await pool.use('db', (client) => client.sendCommand(['GET', 'db'])), value)
      assert.equal(await node.command('GET', 'db'), null)
      const names = (await poolClients(node, 'my-app')).map(({ name }) => name)
      assert.ok(names.includes('my-app:cache-a:shared') && names.includes('my-app:cache-a:lease'), names.join(' '))
    }
    await written('before')
    await cut(pool, await master())
    await written('after a cut')
    await topology.failover('cache-a', { until: 'agreed' })
    await until('the failover', () => pool.stats().shards[0]!.failovers === 1)
    await written('after a failover')
    await pool.close()
  })

  it('N032: a lease that chose another database or name is not lent to the next with it', async () => {
    const pool = await open({ pool: { min: 0, max: 1 } })
    await pool.use('k', (client) => client.select(5))
    await pool.use('k', (client) => client.sendCommand(['CLIENT', 'SETNAME', 'somebody']))
    const info = String(await pool.use('k', (client) => client.sendCommand(['CLIENT', 'INFO'])))
    assert.match(info, / db=0 /)
    assert.match(info, / name=sharded-sentinel-pool:cache-a:lease /)
    await pool.close()
  })

  it('N033: asks for credentials again, so that a password that has been changed meanwhile is the new one', async () => {
    const node = await master()
    let password = 'first'
    await node.command('ACL', 'SETUSER', 'app', 'on', '>first', '~*', '&*', '+@all')
    const credentials = async () => ({ username: 'app', password })
    const pool = await open({ client: { credentialsProvider: { type: 'async-credentials-provider', credentials } } })
    await node.command('ACL', 'SETUSER', 'app', 'resetpass', '>second')
    password = 'second'
    assert.equal(await pool.set('k', 'on the old connection'), 'OK')
    await cut(pool, node)
    assert.equal(await pool.set('k', 'on a new one'), 'OK')
    assert.equal(await pool.use('k', (client) => client.get('k')), 'on a new one')
    // The server throws out whoever is logged in as a user that is deleted; the pool comes back when there is one again.
    await node.command('ACL', 'DELUSER', 'app')
    await until('the loss', () => pool.stats().shards[0]!.state !== 'ready')
    const call = pool.set('k', 'once more')
    await node.command('ACL', 'SETUSER', 'app', 'on', '>third', '~*', '&*', '+@all')
    password = 'third'
    assert.equal(await call, 'OK')
    await pool.close()
  })

  it('N034: a provider that fails, and a login that is refused, are told, and tried again', async () => {
    const pool = poolOn(topology, {
      placementGuard: 'off',
      connectDeadlineMs: 1_000,
      client: {
        credentialsProvider: {
          type: 'async-credentials-provider',
          credentials: () => Promise.reject(new Error('no token today')),
        },
      },
    })
    const { error } = await ending(pool.connect())
    assert.equal((error as { code: string }).code, 'MASTER_UNREACHABLE')
    assert.match(String(error), /no token today/)
    pool.destroy()
  })

  it('N035: an error of a refused login shows no password, however it is printed', async () => {
    const secret = 'correct-horse-battery'
    const node = await master()
    await node.command('ACL', 'SETUSER', 'guest', 'on', '>else', '~*', '+@all')
    const pool = poolOn(topology, { connectDeadlineMs: 1_000, client: { username: 'guest', password: secret } })
    const seen: unknown[] = []
    for (const event of ['error', 'shard-down'] as const) pool.on(event, (told: unknown) => void seen.push(told))
    const { error } = await ending(pool.connect())
    assert.match(String(error), /WRONGPASS/)
    for (const told of [error, ...seen]) {
      for (let cause = told; cause instanceof Error; cause = cause.cause) {
        assert.ok(!JSON.stringify({ ...cause, stack: cause.stack }).includes(secret))
      }
      assert.ok(!inspect(told, { depth: 20, showHidden: true }).includes(secret))
    }
    pool.destroy()
  })

  it('N036: nor does the pool itself, its shards, its figures or a lease', async () => {
    const secret = 'correct-horse-battery'
    const node = await master()
    await node.command('ACL', 'SETUSER', 'shown', 'on', `>${secret}`, '~*', '&*', '+@all')
    const pool = await open({ client: { username: 'shown', password: secret } })
    await pool.use('k', (client) => {
      for (const thing of [pool, pool.shards, pool.stats(), pool.withCommandOptions({ timeout: 1_000 })]) {
        assert.ok(!inspect(thing, { depth: 20 }).includes(secret))
        assert.ok(!JSON.stringify(thing).includes(secret))
      }
      assert.ok(client.isReady)
    })
    await pool.close()
  })
})
