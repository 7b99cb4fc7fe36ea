import { type PoolLease, ShardedSentinelPoolError } from '../../src/index.js'
import type { TestPool } from '../support/pool-on-topology.js'
import type { Ledger } from './ledger.js'
import type { Random } from './random.js'
import type { VirtualTime } from './virtual-time.js'

export interface WorkloadBounds {
  readonly commandTimeoutMs: number
  readonly acquireTimeoutMs: number
  /** A coarse tick or two, and the way of the packets. */
  readonly slackMs: number
  readonly retryAlways: boolean
  readonly trains: boolean
  /** Where one connection carries all single writes and none is sent again after it may have run. */
  readonly keepsOrder: boolean
}

type Operation = (load: Workload) => Promise<void>

/** Callers of one pool that do all kinds of things, each checked by the ledger and by what its reply must be. */
export class Workload {
  readonly pool: TestPool
  readonly random: Random
  readonly ledger: Ledger
  readonly bounds: WorkloadBounds
  readonly time: VirtualTime
  stopped = false
  /** False while `connect()` is under way. */
  connected = false
  #keys = 0

  constructor(pool: TestPool, random: Random, ledger: Ledger, time: VirtualTime, bounds: WorkloadBounds) {
    this.pool = pool
    this.random = random
    this.ledger = ledger
    this.bounds = bounds
    this.time = time
  }

  async work(): Promise<void> {
    const operations = Object.values(this.bounds.trains ? { ...OPERATIONS, train } : OPERATIONS)
    while (!this.stopped) {
      // Ordinary calls more often than the rest, as in life.
      const operation = this.random.chance(0.5) ? OPERATIONS.get! : this.random.pick(operations)
      await operation(this)
      await this.time.sleep(this.random.between(0, 25))
    }
  }

  key(tag = ''): string {
    return `${tag}k${this.random.int(0, 40)}:${++this.#keys}`
  }

  tag(): string {
    return `{t${this.random.int(0, 20)}}`
  }

  /** Runs one call, and books how it began and ended. */
  async call<T>(
    what: string,
    ids: readonly string[],
    boundMs: number,
    expected: unknown,
    send: () => Promise<T>,
  ): Promise<T | undefined> {
    const { ledger, bounds } = this
    // A call that comes while the pool connects waits for that first, as long as a call may.
    const gateMs = this.connected ? 0 : Math.max(bounds.commandTimeoutMs, bounds.acquireTimeoutMs)
    const record = ledger.begin(what, ids, gateMs + boundMs + bounds.slackMs, bounds.retryAlways)
    try {
      const reply = await send()
      ledger.end(record, 'acknowledged', 'OK')
      const [got, wanted] = [JSON.stringify(reply), JSON.stringify(expected)]
      if (expected !== undefined && got !== wanted) ledger.broken(`${what} ${ids.join()} got ${got}, not ${wanted}`)
      return reply
    } catch (error) {
      ledger.end(record, outcomeOf(error), codeOf(error))
      if (codeOf(error) === 'Error' || codeOf(error) === 'TypeError') ledger.broken(`${what} rejected with ${error}`)
      return undefined
    }
  }
}

function outcomeOf(error: unknown): 'not-sent' | 'unknown' | 'other' {
  const { outcome, errorIndexes } = error as { outcome?: string; errorIndexes?: readonly number[] }
  // A pipeline rejects with the error of its first failed command; the others may well have run.
  if (errorIndexes !== undefined) return 'other'
  return outcome === 'not-sent' || outcome === 'unknown' ? outcome : 'other'
}

/** Our code, or the first word of a server's reply, or the class. */
function codeOf(error: unknown): string {
  if (error instanceof ShardedSentinelPoolError) return error.code
  const { name, message } = error as Error
  if (message === 'The command was aborted') return 'AbortError'
  return /^[A-Z]{3,}/.exec(message)?.[0] ?? name
}

/** Writes of one key, none awaited before the next, some in the same turn. */
const train: Operation = async (load) => {
  const key = load.key()
  const ids = Array.from({ length: load.random.int(2, 8) }, () => load.ledger.nextId())
  if (load.bounds.keepsOrder) load.ledger.order.begin(ids)
  const calls: Promise<unknown>[] = []
  for (const id of ids) {
    const { commandTimeoutMs } = load.bounds
    calls.push(load.call('train', [id], commandTimeoutMs, Number(id), () => load.pool.incrBy(key, Number(id))))
    if (load.random.chance(0.5)) await load.time.sleep(load.random.between(0, 20))
  }
  await Promise.all(calls)
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  async get(load) {
    const key = load.key()
    await load.call('get', [], load.bounds.commandTimeoutMs, `v:${key}`, () => load.pool.get(key))
  },
  async incrBy(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    await load.call('incrBy', [id], load.bounds.commandTimeoutMs, Number(id), () => load.pool.incrBy(key, Number(id)))
  },
  async burst(load) {
    // Together, so that they share a flush and, at a reset, a fate.
    const calls = Array.from({ length: load.random.int(2, 12) }, () =>
      load.random.chance(0.5) ? OPERATIONS.getSet!(load) : OPERATIONS.get!(load),
    )
    await Promise.all(calls)
  },
  async getSet(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    await load.call('getSet', [id], load.bounds.commandTimeoutMs, `v:${key}:${id}`, () => load.pool.getSet(key, id))
  },
  async mGet(load) {
    const keys = Array.from({ length: load.random.int(2, 6) }, () => load.key())
    const expected = keys.map((key) => `v:${key}`)
    await load.call('mGet', [], load.bounds.commandTimeoutMs, expected, () => load.pool.mGet(keys))
  },
  async mSet(load) {
    const pairs = Array.from({ length: 3 }, () => [load.key(), load.ledger.nextId()] as [string, string])
    const ids = pairs.map(([, id]) => id)
    await load.call('mSet', ids, load.bounds.commandTimeoutMs, undefined, () => load.pool.mSet(pairs))
  },
  async multi(load) {
    const tag = load.tag()
    const [one, two] = [load.key(tag), load.key(tag)]
    const ids = [load.ledger.nextId(), load.ledger.nextId()]
    const [first, second] = ids.map(Number) as [number, number]
    await load.call('multi', ids, load.bounds.commandTimeoutMs, [first, `v:${one}`, second], () =>
      load.pool.multi().incrBy(one, first).get(one).incrBy(two, second).exec(),
    )
  },
  async pipeline(load) {
    const keys = Array.from({ length: 4 }, () => load.key())
    const ids = keys.map(() => load.ledger.nextId())
    await load.call('pipeline', ids, load.bounds.commandTimeoutMs, ids.map(Number), () => {
      const multi = load.pool.multi()
      for (const [i, key] of keys.entries()) multi.incrBy(key, Number(ids[i]))
      return multi.execAsPipeline()
    })
  },
  async ownTimeout(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    const timeout = load.random.int(20, load.bounds.commandTimeoutMs)
    const view = load.pool.withCommandOptions({ timeout })
    await load.call('own time-out', [id], timeout, Number(id), () => view.incrBy(key, Number(id)))
  },
  async aborted(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    const abort = new AbortController()
    const view = load.pool.withCommandOptions({ abortSignal: abort.signal })
    load.time.after(load.random.int(1, 40), () => abort.abort())
    await load.call('aborted', [id], load.bounds.commandTimeoutMs, Number(id), () => view.incrBy(key, Number(id)))
  },
  async durable(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    const view = load.pool.withReplicaAck({ replicas: 1, timeoutMs: 50 })
    await load.call('durable', [id], load.bounds.commandTimeoutMs, Number(id), () => view.incrBy(key, Number(id)))
  },
  async use(load) {
    const [key, id] = [load.key(), load.ledger.nextId()]
    const { acquireTimeoutMs, commandTimeoutMs } = load.bounds
    // Each of its commands has its own deadline, the UNWATCH at the end too.
    await load.call('use', [id], acquireTimeoutMs + 3 * commandTimeoutMs, Number(id), () =>
      load.pool.use(key, async (client) => {
        if (load.random.chance(0.5)) await client.watch(key)
        return client.incrBy(key, Number(id))
      }),
    )
  },
  async acquire(load) {
    const key = load.key()
    const { acquireTimeoutMs, commandTimeoutMs } = load.bounds
    let lease: PoolLease<{ incrBy(key: string, by: number): Promise<number> }> | undefined
    await load.call('acquire', [], acquireTimeoutMs, undefined, async () => {
      lease = await load.pool.acquire(key)
    })
    if (lease === undefined) return
    const held = lease
    for (let i = load.random.int(0, 3); i > 0; i--) {
      const id = load.ledger.nextId()
      await load.call('lease', [id], commandTimeoutMs, Number(id), () => held.client.incrBy(key, Number(id)))
    }
    const end = async () => (load.random.chance(0.2) ? held.discard() : held.release())
    await load.call('release', [], commandTimeoutMs, undefined, end)
  },
  async blPop(load) {
    const id = load.ledger.nextId()
    const key = `${load.key()}:${id}`
    const seconds = load.random.between(0.02, 0.2)
    const { acquireTimeoutMs, commandTimeoutMs } = load.bounds
    const boundMs = acquireTimeoutMs + commandTimeoutMs + seconds * 1_000
    await load.call('blPop', [id], boundMs, undefined, () => load.pool.blPop(key, seconds))
  },
}
