// B071: start-up took the full connect time-out for every dead sentinel that came first in the list.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { until } from '../support/waiting.js'

it('five shards behind a frozen, a refusing and a good sentinel are found in under a second, over few connections', async (t) => {
  const masters = await Promise.all(Array.from({ length: 5 }, () => FakeRedis.listen()))
  const named = Object.fromEntries(masters.map((redis, i) => [`shard-${i}`, { address: redis.address, epoch: 1 }]))
  const [frozen, gone, good] = await Promise.all(Array.from({ length: 3 }, () => FakeSentinel.listen(named)))
  frozen!.server.frozen = true
  await gone!.close()
  const pool = new ShardedSentinelPool({
    masters: Object.keys(named),
    sentinels: [frozen!.address, gone!.address, good!.address],
    placementGuard: 'off',
    pool: { min: 0 },
  })
  t.after(async () => {
    pool.destroy()
    await Promise.all([...masters, frozen!, good!].map((server) => server.close()))
  })
  const startedAt = performance.now()
  await pool.connect()
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs < 1_000, `${tookMs} ms`)
  await until('the subscription', () => good!.subscribers === 1)
  assert.ok(good!.server.connections.size <= 2, 'one to listen, one to ask')
})
