import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import KeyvRedis from '@keyv/redis'
import { createAdapter, createShardedAdapter } from '@socket.io/redis-adapter'
import { Queue, QueueEvents, Worker } from 'bullmq'
import { RedisStore as SessionStore } from 'connect-redis'
import { Keyv } from 'keyv'
import { RedisStore as LimitStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { ShardedSentinelPool } from '../../src/pool.js'
import { type PlainServers, startServers } from './commands-servers.js'

/** Published libraries that take a node-redis client, given the pool in its place, over three shards. */
function makePool(servers: PlainServers, crossShardMulti: 'refuse' | 'split' = 'refuse') {
  return new ShardedSentinelPool({ masters: servers.pooled, placementGuard: 'off', crossShardMulti })
}

async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 200; i++) {
    if (await condition()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('waited in vain')
}

describe('consumers', () => {
  let servers: PlainServers
  let pool: ReturnType<typeof makePool>

  before(async () => {
    servers = await startServers()
    pool = makePool(servers)
    await pool.connect()
  })

  after(async () => {
    await pool.close()
    await servers[Symbol.asyncDispose]()
  })

  test('connect-redis keeps, lists, touches and clears sessions', async () => {
    const store = new SessionStore({ client: pool as never, prefix: 'sess:' })
    const session = (user: string) => ({ user, cookie: { originalMaxAge: 60_000 } }) as never
    for (let i = 0; i < 30; i++) await store.set(`s${i}`, session(`u${i}`))
    assert.equal(((await store.get('s7')) as { user?: string }).user, 'u7')
    assert.equal((await store.ids()).length, 30)
    assert.equal(await store.length(), 30)
    const all = (await store.all()) as { id: string; user: string }[]
    assert.ok(all.every(({ id, user }) => id.slice(1) === user.slice(1)))
    await store.touch('s7', session('u7'))
    assert.ok((await pool.ttl('sess:s7')) > 0)
    await store.destroy('s7')
    assert.equal(await store.get('s7'), null)
    await store.clear()
    assert.equal(await store.length(), 0)
  })

  test('rate-limiter-flexible counts, and rejects what is too much', async () => {
    const limiter = new RateLimiterRedis({
      storeClient: pool,
      useRedisPackage: true,
      rejectIfRedisNotReady: true,
      points: 3,
      duration: 10,
    })
    for (const user of ['a', 'b', 'c', 'd']) {
      for (let i = 0; i < 3; i++) assert.equal((await limiter.consume(user)).consumedPoints, i + 1)
      await assert.rejects(limiter.consume(user), (result: { consumedPoints: number }) => result.consumedPoints === 4)
      assert.equal((await limiter.get(user))?.remainingPoints, 0)
      assert.equal(await limiter.delete(user), true)
    }
  })

  test('rate-limit-redis loads its scripts on all shards and finds them again after a SCRIPT FLUSH', async () => {
    const store = new LimitStore({ sendCommand: (...args: string[]) => pool.sendCommand(args) as never })
    store.init({ windowMs: 10_000 } as never)
    for (const key of ['1', '2', '3', '4', '5']) {
      assert.equal((await store.increment(key)).totalHits, 1)
      assert.equal((await store.increment(key)).totalHits, 2)
    }
    await pool.scriptFlush()
    assert.equal((await store.increment('1')).totalHits, 3)
    assert.equal((await store.get('1'))?.totalHits, 3)
    await store.resetKey('1')
    assert.equal((await store.increment('1')).totalHits, 1)
  })

  test('@keyv/redis sets, gets many, iterates and clears', async () => {
    // setMany and deleteMany put unrelated keys into one multi().
    const splitting = makePool(servers, 'split')
    const keyv = new Keyv(new KeyvRedis(splitting as never), { namespace: 'keyv' })
    const errors: unknown[] = []
    keyv.on('error', (error) => errors.push(error))
    for (let i = 0; i < 20; i++) await keyv.set(`k${i}`, { i }, 60_000)
    assert.deepEqual(await keyv.get('k3'), { i: 3 })
    assert.deepEqual(await keyv.getMany(['k1', 'nothing', 'k2']), [{ i: 1 }, undefined, { i: 2 }])
    await keyv.setMany([
      { key: 'm1', value: 1 },
      { key: 'm2', value: 2 },
    ])
    assert.equal(await keyv.has('m1'), true)
    const seen: string[] = []
    for await (const [key] of keyv.iterator!('keyv')) seen.push(String(key))
    assert.equal(seen.length, 22)
    assert.equal(await keyv.delete('k3'), true)
    assert.equal(await keyv.deleteMany(['k4', 'k5']), true)
    await keyv.clear()
    assert.equal(await keyv.get('k1'), undefined)
    assert.deepEqual(errors, [])
    await splitting.close()
  })

  for (const [kind, create] of [
    ['plain', createAdapter],
    ['sharded', createShardedAdapter as unknown as typeof createAdapter],
  ] as const) {
    test(`socket.io's ${kind} adapter carries events from node to node and counts the nodes`, async () => {
      const subscribers = [pool.duplicate(), pool.duplicate()]
      await Promise.all(subscribers.map((one) => one.connect()))
      try {
        const received: unknown[][] = [[], []]
        const adapters = subscribers.map((subscriber, i) => {
          const namespace = {
            name: '/',
            sockets: new Map(),
            server: { encoder: { encode: (packet: unknown) => [packet] }, _opts: {}, opts: {} },
            _onServerSideEmit: (args: unknown[]) => received[i]!.push(args[0]),
          }
          const adapter = create(pool as never, subscriber as never)(namespace as never)
          adapter.init()
          return adapter
        })
        await waitFor(async () => (await adapters[0]!.serverCount()) === 2)
        adapters[0]!.serverSideEmit(['hello'])
        await waitFor(() => received[1]!.length === 1)
        assert.deepEqual(received, [[], ['hello']])
        for (const adapter of adapters) adapter.close()
      } finally {
        for (const subscriber of subscribers) await subscriber.close()
      }
    })
  }

  test("BullMQ's node-redis mode runs jobs under one hash-tagged prefix", async () => {
    const prefix = '{bull}'
    const connection = pool as never
    // BullMQ leaves the connections it was given to their owner.
    const own = [pool.duplicate(), pool.duplicate()] as const
    const queue = new Queue('jobs', { connection, prefix })
    const events = new QueueEvents('jobs', { connection: own[0] as never, prefix })
    const done: unknown[] = []
    const worker = new Worker('jobs', async (job) => done.push(job.data.n), {
      connection: own[1] as never,
      prefix,
    })
    const errors: unknown[] = []
    queue.on('error', (error) => errors.push(error))
    worker.on('error', (error) => errors.push(error))
    events.on('error', (error) => errors.push(error))
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady(), events.waitUntilReady()])
    const jobs = await queue.addBulk(Array.from({ length: 20 }, (_, n) => ({ name: 'job', data: { n } })))
    await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 10_000)))
    assert.equal(done.length, 20)
    const late = await queue.add('late', { n: 99 }, { delay: 50 })
    await late.waitUntilFinished(events, 5_000)
    assert.deepEqual(await queue.getJobCounts('completed', 'failed'), { completed: 21, failed: 0 })
    await worker.close()
    await events.close()
    await queue.close()
    await Promise.all(own.map((one) => one.close()))
    assert.deepEqual(errors, [])
  })
})
