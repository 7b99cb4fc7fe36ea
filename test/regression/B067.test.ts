// B067: a write was sent again by itself after its connection was lost, and ran twice.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'

it('increments over a network that cuts at random: the counter is what was acknowledged, plus at most what is unknown', async () => {
  await using topology = await LocalTopology.start({ replicas: 0, sentinels: 0, proxy: { data: true } })
  const [master] = topology.shards[0]!.nodes
  const proxy = await topology.proxy(master!)
  const pool = new ShardedSentinelPool({ masters: [{ name: 'a', ...proxy.address }], commandTimeoutMs: 5_000 })
  try {
    await pool.connect()
    let [acknowledged, unknown] = [0, 0]
    for (let round = 0; round < 40; round++) {
      const calls = Array.from({ length: 10 }, () => pool.incr('counter'))
      if (round % 2 === 0) setTimeout(() => (round % 4 === 0 ? proxy.reset() : proxy.drop()), Math.random() * 3)
      for (const end of await Promise.allSettled(calls)) {
        if (end.status === 'fulfilled') acknowledged++
        else {
          assert.deepEqual([end.reason.code, end.reason.outcome], ['CONNECTION_LOST', 'unknown'])
          unknown++
        }
      }
    }
    const counter = Number(await master!.command('GET', 'counter'))
    assert.ok(
      counter >= acknowledged && counter <= acknowledged + unknown,
      `${acknowledged} <= ${counter} <= +${unknown}`,
    )
    assert.ok(acknowledged > 100)
  } finally {
    pool.destroy()
  }
})
