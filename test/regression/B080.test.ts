// B080: middleboxes forgot idle connections; the first command after a quiet time failed or hung.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { keyOf, poolOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

const HEARTBEAT_MS = 1_000

it('after a silent death of every connection calls and leases succeed, and a failover is still heard', {
  timeout: 60_000,
}, async () => {
  await using topology = await LocalTopology.start({ shards: ['cache-a'], proxy: { data: true, sentinels: true } })
  const pool = poolOn(topology, { heartbeatMs: HEARTBEAT_MS, commandTimeoutMs: 5_000 })
  const key = keyOf(pool, 'cache-a')
  try {
    await pool.connect()
    await until('the lease connection', () => pool.stats().shards[0]!.leases.idle === 1)
    await until('the subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
    await pool.set(key, 'value')
    const silence = async () => {
      for (const node of topology.nodes) (await topology.proxy(node)).silence()
    }
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    await silence()
    const ended = await Promise.all(Array.from({ length: 5 }, () => ending(pool.get(key))))
    for (const { reply, tookMs } of ended) {
      assert.equal(reply, 'value')
      assert.ok(tookMs < HEARTBEAT_MS + 1_000, `${tookMs} ms`)
    }
    assert.equal(await pool.use(key, (client) => client.get(key)), 'value')

    await until('the subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
    await silence()
    await until('somebody to be missed', () => pool.stats().sentinels.some((one) => !one.subscribed), 5_000)
    await until('the subscriptions', () => pool.stats().sentinels.every((one) => one.subscribed), 10_000)
    const followed = nextEvent(pool, 'failover')
    await topology.failover('cache-a')
    await followed
    assert.equal(await pool.set(key, 'new'), 'OK')
  } finally {
    pool.destroy()
  }
})
