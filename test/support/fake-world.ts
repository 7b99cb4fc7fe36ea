import type { TestContext } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import { FakeRedis } from './fake-redis.js'
import { FakeSentinel } from './fake-sentinel.js'
import type { TestPool } from './pool-on-topology.js'

export interface FakeWorld {
  /** Of the one shard, `cache-a`. */
  readonly master: FakeRedis
  readonly replica: FakeRedis
  /** The master of the other shard, `cache-b`. */
  readonly other: FakeRedis
  readonly sentinels: readonly FakeSentinel[]
  readonly pool: TestPool
  /** A key of `cache-a`, and one of `cache-b`. */
  readonly key: string
  readonly otherKey: string
  readonly events: [string, unknown][]
  /** The replica is the master now; the sentinels know it, and tell it only when `tell` says so. */
  promote(epoch?: number): void
  tell(from?: FakeRedis, to?: FakeRedis, sentinels?: readonly FakeSentinel[]): void
}

/** Two shards, three sentinels and a pool that is connected, all in this process and gone with the test. */
export async function fakeWorld(t: TestContext, options: Partial<PoolOptions> = {}): Promise<FakeWorld> {
  const master = await FakeRedis.listen()
  const replica = await FakeRedis.listen('slave')
  const other = await FakeRedis.listen()
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, () =>
      FakeSentinel.listen({
        'cache-a': { address: master.address, epoch: 1, replicas: [replica.address] },
        'cache-b': { address: other.address, epoch: 1 },
      }),
    ),
  )
  const pool = new ShardedSentinelPool({
    masters: ['cache-a', 'cache-b'],
    sentinels: sentinels.map((sentinel) => sentinel.address),
    placementGuard: 'off',
    commandTimeoutMs: 500,
    pollIntervalMs: 60_000,
    pool: { min: 0 },
    ...options,
  } as PoolOptions)
  const events: [string, unknown][] = []
  for (const name of ['failover', 'reconnect', 'shard-down'] as const) {
    pool.on(name, (event: unknown) => void events.push([name, event]))
  }
  t.after(async () => {
    pool.destroy()
    await Promise.all([master, replica, other, ...sentinels].map((server) => server.close()))
  })
  const keyAt = (shard: string) => {
    for (let i = 0; ; i++) if (pool.locate(`key:${i}`) === shard) return `key:${i}`
  }
  await pool.connect()
  return {
    master,
    replica,
    other,
    sentinels,
    pool,
    events,
    key: keyAt('cache-a'),
    otherKey: keyAt('cache-b'),
    promote(epoch = 2) {
      replica.role = 'master'
      for (const sentinel of sentinels) {
        sentinel.masters.set('cache-a', { address: replica.address, epoch, replicas: [master.address] })
      }
    },
    tell(from = master, to = replica, who = sentinels) {
      const words = ['cache-a', from.address.host, from.address.port, to.address.host, to.address.port]
      for (const sentinel of who) sentinel.publish('+switch-master', words.join(' '))
    },
  }
}

/** How much later than asked this process's own timers have fired at the worst, in ms: a busy machine, not the pool. */
export class OwnLag {
  worstMs = 0
  readonly #timer: NodeJS.Timeout

  constructor() {
    let last = performance.now()
    this.#timer = setInterval(() => {
      const now = performance.now()
      this.worstMs = Math.max(this.worstMs, now - last - 10)
      last = now
    }, 10)
    // A test that fails does not stop it.
    this.#timer.unref()
  }

  stop(): number {
    clearInterval(this.#timer)
    return Math.max(0, this.worstMs)
  }
}

/** How a call ended and how long it took. */
export async function ending(call: Promise<unknown>): Promise<{ error: unknown; reply: unknown; tookMs: number }> {
  const startedAt = performance.now()
  try {
    return { reply: await call, error: undefined, tookMs: performance.now() - startedAt }
  } catch (error) {
    return { error, reply: undefined, tookMs: performance.now() - startedAt }
  }
}
