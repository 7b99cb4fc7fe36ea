// B016: BUSY replies of a long script were taken for a dead master, or broke consumers for good.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { poolClientIds } from '../support/pool-on-topology.js'

it('a server busy with a script is alive: its calls wait, its connections stay, UNKILLABLE is told as it is', async () => {
  await using topology = await LocalTopology.start({
    replicas: 0,
    sentinels: 0,
    dataConfig: { 'busy-reply-threshold': 200 },
  })
  const [master] = topology.shards[0]!.nodes
  const pool = new ShardedSentinelPool({
    masters: [{ name: 'a', ...master!.address }],
    commandTimeoutMs: 5_000,
    heartbeatMs: 200,
    pollIntervalMs: 200,
  })
  try {
    await pool.connect()
    await pool.set('key', 'value')
    const ids = await poolClientIds(master!)
    const script = `redis.call('set', KEYS[1], 'x') local t = redis.call('time')[1] while redis.call('time')[1] - t < 2 do end return 'done'`
    const running = pool.use('key', (client) => client.eval(script, { keys: ['busy'], arguments: [] }))
    await new Promise((resolve) => setTimeout(resolve, 500))
    await assert.rejects(pool.shards[0]!.sendCommand(['SCRIPT', 'KILL']), /^Error: UNKILLABLE/)
    assert.equal(await pool.get('key'), 'value')
    assert.equal(await running, 'done')
    assert.equal(pool.stats().shards[0]!.generation, 1)
    const after = await poolClientIds(master!)
    assert.ok(ids.filter((id) => after.includes(id)).length >= 1)
    assert.equal(await pool.use('key', (client) => client.get('key')), 'value')
  } finally {
    pool.destroy()
  }
})
