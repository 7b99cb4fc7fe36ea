import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Address } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { errorsByCode, Load } from '../support/load.js'
import { poolClientIds, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

describe('one sentinel publishes a +switch-master with a false address', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], proxy: { sentinels: true } })
    pool = poolOn(topology)
    await pool.connect()
    await until('the lease connections', () => pool.stats().shards.every((shard) => shard.leases.idle === 1))
    await until('three subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  const liesAbout: [string, () => Promise<Address>][] = [
    ['a replica of the same shard', async () => (await topology.replicas('cache-a'))[0]!.address],
    ['the master of another shard', async () => (await topology.currentMaster('cache-b')).address],
    ['a port where nobody listens', async () => ({ host: '127.0.0.1', port: 1 })],
    ['an address that never answers', async () => ({ host: '192.0.2.1', port: 6379 })],
  ]
  for (const [what, addressOf] of liesAbout) {
    it(`${what} is not followed: no failover, no error, the same connections, told to three listeners or to one`, async () => {
      const master = await topology.currentMaster('cache-a')
      const masters = [master, await topology.currentMaster('cache-b')]
      const idsBefore = await Promise.all(masters.map(poolClientIds))
      const before = pool.stats().shards
      const failovers: unknown[] = []
      const note = (event: unknown) => failovers.push(event)
      pool.on('failover', note)
      pool.on('reconnect', note)
      pool.on('shard-down', note)
      const load = new Load(pool, topology.masters)
      await until('some traffic', () => load.calls.length > 50)
      const to = await addressOf()
      const heard = nextEvent(pool, 'sentinel', { test: (news) => news?.event === '+switch-master' })
      assert.equal(topology.publishFalseSwitch(0, 'cache-a', master.address, to), 1)
      await heard
      await until('the rumour to be looked into', () => pool.stats().shards[0]!.rebuilds > before[0]!.rebuilds)
      const callsThen = load.calls.length
      await until('traffic to go on', () => load.calls.length > callsThen + 100)
      await until('the shard to be at rest', () => pool.stats().shards[0]!.state === 'ready')
      const calls = await load.stop()
      for (const event of ['failover', 'reconnect', 'shard-down'] as const) pool.off(event, note)

      assert.deepEqual(failovers, [])
      assert.deepEqual(errorsByCode(calls), {})
      assert.deepEqual(await Promise.all(masters.map(poolClientIds)), idsBefore)
      assert.deepEqual(
        pool.stats().shards.map(({ address, generation, errors }) => ({ address, generation, errors })),
        before.map(({ address, generation, errors }) => ({ address, generation, errors })),
      )
      const longest = Math.max(...calls.map((call) => call.endedAt - call.startedAt))
      assert.ok(longest < 1_000, `no call waited long: ${Math.round(longest)} ms`)
    })
  }
})
