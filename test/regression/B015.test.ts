// B015: right after a promotion writes failed with NOREPLICAS and were not repeated, although it passes in milliseconds.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'

it('NOREPLICAS is waited out within the budget; when it lasts it is told as it is, and nothing is rebuilt', async () => {
  await using topology = await LocalTopology.start({ replicas: 0, sentinels: 0 })
  const [master] = topology.shards[0]!.nodes
  const pool = new ShardedSentinelPool({ masters: [{ name: 'a', ...master!.address }], commandTimeoutMs: 1_000 })
  try {
    await pool.connect()
    await master!.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    const { error, tookMs } = await ending(pool.set('key', 'value'))
    assert.match((error as Error).message, /^NOREPLICAS/)
    assert.ok(tookMs > 800 && tookMs < 1_500, `${tookMs} ms`)
    const write = pool.set('key', 'value')
    setTimeout(() => master!.command('CONFIG', 'SET', 'min-replicas-to-write', '0'), 300)
    assert.equal(await write, 'OK')
    const [shard] = pool.stats().shards
    assert.deepEqual([shard!.generation, shard!.errors], [1, 0])
  } finally {
    pool.destroy()
  }
})
