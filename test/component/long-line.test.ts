import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { TcpProxy } from '../../src/testing/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { FakeSentinel } from '../support/fake-sentinel.js'

describe('a line whose round trips take longer than the grace for a sign of life', () => {
  for (const commandTimeoutMs of [5_000, 0]) {
    it(`a dead connection is replaced on it all the same (commandTimeoutMs ${commandTimeoutMs})`, async (t) => {
      const master = await FakeRedis.listen()
      const proxy = await TcpProxy.listen({ target: master.address })
      proxy.delay(60)
      const sentinel = await FakeSentinel.listen({ 'cache-a': { address: proxy.address, epoch: 1, replicas: [] } })
      const pool = new ShardedSentinelPool({
        masters: ['cache-a'],
        sentinels: [sentinel.address],
        commandTimeoutMs,
        heartbeatMs: 1_000,
        pollIntervalMs: 60_000,
        placementGuard: 'off',
        pool: { min: 0 },
      })
      t.after(async () => {
        pool.destroy()
        await Promise.all([proxy.close(), master.close(), sentinel.close()])
      })
      await pool.connect()
      /** The connection that has opened last never says anything again. */
      const silence = () => {
        const last = [...master.server.connections].at(-1)!
        last.send = () => {}
      }
      const answered = async (client: { get(key: string): Promise<string | null> }) => {
        const since = performance.now()
        assert.equal(await client.get('k'), 'v')
        const tookMs = performance.now() - since
        assert.ok(tookMs < 3_000, `${tookMs} ms`)
      }
      await pool.set('k', 'v')
      silence()
      await answered(pool)
      assert.equal(pool.stats().shards[0]!.reconnects, 1)
      if (commandTimeoutMs === 0) return
      const patient = pool.withCommandOptions({ timeout: 0 })
      await patient.set('k', 'v')
      silence()
      await answered(patient)
      assert.equal(pool.stats().shards[0]!.reconnects, 1, 'only the lane of slow calls was dead')
    })
  }
})
