// B002: a get against a master that does not answer waited for as long as the master slept, and its late reply reached the next caller.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'

it('a frozen master with no failover: the call ends by its deadline, and no late reply reaches another call', async () => {
  await using topology = await LocalTopology.start({ shards: ['cache-a'], replicas: 0, sentinels: 0 })
  const [master] = topology.shard('cache-a').nodes
  const pool = new ShardedSentinelPool({ masters: [{ name: 'cache-a', ...master!.address }], commandTimeoutMs: 500 })
  try {
    await pool.connect()
    const keys = Array.from({ length: 200 }, (_, i) => `key:${i}`)
    await Promise.all(keys.map((key) => pool.set(key, `value of ${key}`)))
    master!.freeze()
    const ended = await Promise.all(keys.map((key) => ending(pool.get(key))))
    for (const { error, tookMs } of ended) {
      const { code, shard } = error as { code: string; shard: string }
      assert.ok(['COMMAND_TIMEOUT', 'SHARD_UNAVAILABLE'].includes(code), String(error))
      assert.equal(shard, 'cache-a')
      assert.ok(tookMs < 500 + 200 + 200, `${tookMs} ms`)
    }
    master!.cont()
    const replies = await Promise.all(keys.map((key) => pool.withCommandOptions({ timeout: 5_000 }).get(key)))
    assert.deepEqual(
      replies,
      keys.map((key) => `value of ${key}`),
    )
  } finally {
    pool.destroy()
  }
})
