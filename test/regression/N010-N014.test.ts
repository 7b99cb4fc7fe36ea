// N010, N011, N012, N013, N014: opened, closed or never opened: a client that could not be used again, or held the process.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { ending, fakeWorld } from '../support/fake-world.js'
import { activeResources } from '../support/sockets.js'
import { until } from '../support/waiting.js'

describe('the life of a pool', () => {
  it('N010: after close() it can be connected again, with its leases', async (t) => {
    const { pool, key, master } = await fakeWorld(t)
    for (let life = 1; life <= 3; life++) {
      assert.equal(await pool.use(key, (client) => client.set(key, String(life))), 'OK')
      await pool.close()
      await until('no connection', () => master.server.connections.size === 0)
      await assert.rejects(pool.get(key), { code: 'POOL_CLOSED' })
      await pool.connect()
      assert.equal(await pool.get(key), String(life))
    }
  })

  it('N011: close() is not held up by idle connections, however many are kept', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { pool: { min: 10, max: 20 } })
    await until('ten idle connections', () => pool.stats().shards[0]!.leases.idle === 10)
    await pool.use(key, (client) => client.get(key))
    const { error, tookMs } = await ending(pool.close())
    assert.equal(error, undefined)
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
    await until('no connection', () => master.server.connections.size === 0)
  })

  it('N012: close() leaves no timer behind, neither for idle connections nor for anything else', async (t) => {
    const before = activeResources().Timeout ?? 0
    const { pool, key } = await fakeWorld(t, { pool: { min: 2, max: 4, idleTimeoutMs: 30_000 } })
    await Promise.all(Array.from({ length: 4 }, () => pool.use(key, (client) => client.get(key))))
    await pool.withCommandOptions({ timeout: 60_000 }).get(key)
    await pool.close()
    assert.equal(activeResources().Timeout ?? 0, before)
  })

  it('N013: a connect() that fails since nobody knows the master leaves no connection, and may be tried again', async (t) => {
    const sentinels = await Promise.all([1, 2, 3].map(() => FakeSentinel.listen()))
    t.after(() => Promise.all(sentinels.map((sentinel) => sentinel.close())))
    const pool = new ShardedSentinelPool({
      masters: ['cache-a'],
      sentinels: sentinels.map(({ address }) => address),
      connectDeadlineMs: 5_000,
    })
    const before = activeResources().Timeout ?? 0
    for (let attempt = 0; attempt < 5; attempt++) await assert.rejects(pool.connect(), { code: 'UNKNOWN_MASTER' })
    const open = () => sentinels.reduce((sum, { server }) => sum + server.connections.size, 0)
    await until('no connection', () => open() === 0)
    assert.equal(activeResources().Timeout ?? 0, before)
  })

  it('N014: close() and destroy() end at once where nothing was ever reached, and calls end too', async () => {
    const settings = { masters: ['cache-a'], sentinels: ['127.0.0.1:1'], commandTimeoutMs: 300 }
    for (const end of ['close', 'destroy'] as const) {
      const idle = new ShardedSentinelPool(settings)
      await idle[end]()
      const pool = new ShardedSentinelPool(settings)
      const connecting = ending(pool.connect())
      const call = ending(pool.get('k'))
      await new Promise((resolve) => setTimeout(resolve, 50))
      const { tookMs } = await ending(Promise.resolve(pool[end]()))
      assert.ok(tookMs < 1_000, `${end}: ${tookMs} ms`)
      assert.ok((await connecting).error, 'connect() has resolved')
      assert.ok((await call).error, 'a call has been answered')
    }
  })
})
