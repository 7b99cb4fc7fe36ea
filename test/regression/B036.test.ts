// B036: connections that died while idle were handed to the next callers.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { until } from '../support/waiting.js'

it('CLIENT KILL of all idle connections: no call and no lease fails, and the pool is refilled', async () => {
  await using topology = await LocalTopology.start({ replicas: 0, sentinels: 0 })
  const [master] = topology.shards[0]!.nodes
  const pool = new ShardedSentinelPool({ masters: [{ name: 'a', ...master!.address }], pool: { min: 5, max: 8 } })
  try {
    await pool.connect()
    await until('five idle', () => pool.stats().shards[0]!.leases.idle === 5)
    await pool.set('key', 'value')
    for (let round = 0; round < 3; round++) {
      await master!.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      const gets = await Promise.all(Array.from({ length: 5 }, () => pool.get('key')))
      assert.deepEqual(new Set(gets), new Set(['value']))
      const uses = await Promise.all(Array.from({ length: 5 }, () => pool.use('key', (client) => client.get('key'))))
      assert.deepEqual(new Set(uses), new Set(['value']))
      await until('the refill', () => pool.stats().shards[0]!.leases.idle >= 5, 5_000)
    }
  } finally {
    pool.destroy()
  }
})
