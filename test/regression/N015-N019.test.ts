// N015, N016, N017, N018, N019: connections that break again and again: calls that never settled, were lost or knocked without a pause.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { FakeRedis } from '../support/fake-redis.js'
import { FakeSentinel } from '../support/fake-sentinel.js'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('connections break', () => {
  it('N015: under calls that may not be repeated: each of them is told, a blocking one too', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { retry: 'never', commandTimeoutMs: 5_000 })
    const blocking = ending(pool.blPop(key, 30))
    await until('the blocking call', () => master.count('BLPOP') === 1)
    master.server.frozen = true
    const calls = [blocking, ...[pool.get(key), pool.incr(key), pool.multi().get(key).exec()].map(ending)]
    await pause(20)
    master.server.frozen = false
    master.cut()
    for (const { error, tookMs } of await Promise.all(calls)) {
      assert.ok(['CONNECTION_LOST', 'LEASE_RELEASED'].includes((error as { code: string }).code), String(error))
      assert.ok(tookMs < 2_000, `${tookMs} ms`)
    }
    assert.equal(await pool.set(key, 'after'), 'OK')
  })

  it('N016: over and over while the server restarts: every call ends, and the last one is answered', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    const cutting = setInterval(() => master.cut(), 20)
    t.after(() => clearInterval(cutting))
    const stopAt = performance.now() + 800
    const work = async (send: () => Promise<unknown>) => {
      while (performance.now() < stopAt) {
        const { tookMs } = await ending(send())
        assert.ok(tookMs < 2_000, `${tookMs} ms`)
        await pause(1)
      }
    }
    await Promise.all([work(() => pool.blPop(key, 30)), work(() => pool.incr(key)), work(() => pool.get(key))])
    clearInterval(cutting)
    // A read: the last cut may not have been noticed yet, and a write sent into it would be in doubt.
    master.data.set(key, 'after')
    assert.equal(await pool.withCommandOptions({ timeout: 5_000 }).get(key), 'after')
    assert.deepEqual([pool.stats().shards[0]!.inFlight, pool.stats().shards[0]!.leases.borrowed], [0, 0])
  })

  it('N017: as soon as they are made: attempts are spread, and there is one at a time', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    const accepted = master.server.accepted
    let most = 0
    const cutting = setInterval(() => {
      most = Math.max(most, master.server.connections.size)
      master.cut()
    }, 1)
    t.after(() => clearInterval(cutting))
    const calls = Array.from({ length: 200 }, () => ending(pool.get(key)))
    await pause(1_000)
    clearInterval(cutting)
    const attempts = master.server.accepted - accepted
    assert.ok(attempts <= 20, `${attempts} attempts in a second`)
    assert.ok(most <= 2, `${most} connections at once`)
    await Promise.all(calls)
  })

  it('N018: for a while: what waited goes out once, in the order of the calls, and none is left behind', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    await master.close()
    await until('the loss', () => pool.stats().shards[0]!.state !== 'ready')
    const calls = Array.from({ length: 50 }, (_, i) => pool.set(key, String(i)))
    await pause(100)
    await master.server.listen()
    for (const reply of await Promise.all(calls)) assert.equal(reply, 'OK')
    assert.deepEqual(
      master.executed.map(([, , value]) => Number(value)),
      Array.from({ length: 50 }, (_, i) => i),
    )
  })

  it('N018: and break once more while what waited goes out: it waits on, and no write runs twice', async (t) => {
    const { pool, key, master, replica, promote } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    await master.close()
    await until('the loss', () => pool.stats().shards[0]!.state !== 'ready')
    const calls = Array.from({ length: 50 }, () => pool.incr(key))
    // It comes back, and is a replica by the time the first command reaches it.
    master.refusal = 'READONLY You can not write against a read only replica.'
    await master.server.listen()
    await until('refusals', () => pool.stats().shards[0]!.repeats > 0)
    master.role = 'slave'
    promote()
    const replies = (await Promise.all(calls)) as number[]
    assert.deepEqual(
      replies.sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, i) => i + 1),
    )
    assert.deepEqual([master.count('INCR'), replica.count('INCR')], [0, 50])
  })

  it('N019: half: the server has ended, this side has not noticed, and a write then is an error of that call only', async (t) => {
    const redis = await FakeRedis.listen()
    const clients = new Set<Socket>()
    const half = createServer({ allowHalfOpen: true }, (client) => {
      clients.add(client)
      const server = connect(redis.address.port, redis.address.host)
      for (const socket of [client, server]) socket.on('error', () => {})
      client.pipe(server).pipe(client, { end: false })
      client.on('close', () => {
        clients.delete(client)
        server.destroy()
      })
    })
    half.listen(0, '127.0.0.1')
    await once(half, 'listening')
    const address = { host: '127.0.0.1', port: (half.address() as AddressInfo).port }
    const sentinel = await FakeSentinel.listen({ 'cache-a': { address, epoch: 1 } })
    const pool = new ShardedSentinelPool({
      masters: ['cache-a'],
      sentinels: [sentinel.address],
      placementGuard: 'off',
      pool: { min: 0 },
      commandTimeoutMs: 2_000,
    })
    const escaped: unknown[] = []
    const catchAll = (error: unknown) => void escaped.push(error)
    process.on('unhandledRejection', catchAll)
    t.after(async () => {
      process.off('unhandledRejection', catchAll)
      pool.destroy()
      for (const client of clients) client.destroy()
      half.close()
      await Promise.all([redis.close(), sentinel.close()])
    })
    await pool.connect()
    for (let round = 0; round < 5; round++) {
      for (const client of clients) client.end()
      const calls: Promise<{ error: unknown }>[] = []
      for (let turn = 0; turn < 5; turn++) {
        calls.push(ending(pool.set('k', 'v')), ending(pool.get('k')))
        await new Promise((resolve) => setImmediate(resolve))
      }
      for (const { error } of await Promise.all(calls)) {
        if (error !== undefined) assert.equal((error as { code: string }).code, 'CONNECTION_LOST')
      }
    }
    assert.equal(await pool.set('k', 'end'), 'OK')
    await pause(10)
    assert.deepEqual(escaped, [])
  })
})
