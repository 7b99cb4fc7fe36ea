import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { ending, OwnLag } from '../support/fake-world.js'

/** A line to a server that takes so many bytes a ms from each client; answers come back at once. */
async function throttled(t: TestContext, perMs: number) {
  const redis = await FakeRedis.listen()
  const line = { redis, perMs, accepted: 0 }
  const server = createServer({ noDelay: true }, (client) => {
    line.accepted++
    const target = connect(redis.address)
    for (const socket of [client, target]) socket.on('error', () => {})
    client.on('data', (chunk) => {
      client.pause()
      target.write(chunk)
      setTimeout(() => client.resume(), chunk.length / line.perMs)
    })
    target.on('data', (chunk) => client.write(chunk))
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new ShardedSentinelPool({
    masters: [{ name: 'cache-a', host: '127.0.0.1', port }],
    placementGuard: 'off',
    commandTimeoutMs: 5_000,
    pool: { min: 0 },
  })
  const events: string[] = []
  for (const name of ['reconnect', 'shard-down'] as const) pool.on(name, () => void events.push(name))
  t.after(async () => {
    pool.destroy()
    server.close()
    await redis.close()
  })
  await pool.connect()
  return { pool, line, events }
}

describe('a large value on a slow line', () => {
  for (const as of ['text', 'bytes'] as const) {
    it(`is no dead connection: 3 MB of ${as} at 1 MB/s arrive, on the connection they were sent on`, async (t) => {
      const { pool, line, events } = await throttled(t, 1_000)
      const value = as === 'text' ? 'x'.repeat(3_000_000) : Buffer.alloc(3_000_000, 'x')
      const lag = new OwnLag()
      const { reply, error, tookMs } = await ending(pool.set('large', value as string))
      assert.equal(reply, 'OK', String(error))
      assert.ok(tookMs >= 2_000 && tookMs < 4_500 + lag.stop(), `${tookMs} ms`)
      assert.equal(line.redis.data.get('large')!.length, 3_000_000)
      assert.deepEqual(events, [])
      assert.equal(line.accepted, 1)
    })
  }

  it('has until its deadline, and no longer', async (t) => {
    const { pool } = await throttled(t, 200)
    const lag = new OwnLag()
    const { error, tookMs } = await ending(pool.set('large', 'x'.repeat(3_000_000)))
    const { code, outcome } = error as { code: string; outcome: string }
    assert.deepEqual([code, outcome], ['COMMAND_TIMEOUT', 'unknown'])
    assert.ok(tookMs >= 4_000 && tookMs <= 5_100 + lag.stop(), `${tookMs} ms`)
  })

  it('is waited for once: a connection that falls silent after it is found out as soon as any other', async (t) => {
    const { pool, line } = await throttled(t, 10_000)
    assert.equal(await pool.set('large', 'x'.repeat(1_000_000)), 'OK')
    await new Promise((resolve) => setTimeout(resolve, 600))
    await pool.get('small')
    await new Promise((resolve) => setTimeout(resolve, 600))
    const [connection] = [...line.redis.server.connections]
    connection!.send = () => {}
    const { error, tookMs } = await ending(pool.get('large'))
    assert.equal(error, undefined)
    assert.ok(tookMs < 2_500, `${tookMs} ms`)
  })
})
