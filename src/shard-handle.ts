import type { Address } from './address.js'
import { lookUpCommand } from './commands/command-table.js'
import { UnsupportedCommandError } from './errors.js'
import type { ShardState } from './events.js'
import type {
  RedisArgument,
  RedisClientType,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from './redis-client.js'
import type { LeaseState } from './shard/call.js'
import type { Lease } from './shard/lease.js'
import { leavesAMark } from './shard/lease-methods.js'
import type { Shard } from './shard/shard.js'
import type { ShardStats } from './stats.js'

/**
 * An exclusive connection of one shard, held by hand. It ends exactly once: `release()`, `discard()`, or because the
 * shard's master changed or the pool closed; after that every use rejects with LeaseReleasedError.
 */
export interface PoolLease<C> {
  /** The shard's master name. */
  readonly shard: string
  readonly state: LeaseState
  /** A node-redis client that nobody else uses while the lease lasts. */
  readonly client: C
  /** Gives the connection back; cleaned, or destroyed when it cannot be. @throws LeaseReleasedError the second time */
  release(): Promise<void>
  /** Gives it back to be destroyed. @throws LeaseReleasedError the second time */
  discard(): void
  /** Gives it back, unless it has ended already. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The lease under node-redis's own types: the client is one of node-redis's, seen through the lease's guard. */
export function typedLease<C>(lease: Lease): PoolLease<C> {
  return lease as unknown as PoolLease<C>
}

/** An exclusive connection of a shard that may have to open first: the wait for that is part of the one bound. */
export async function leaseOf(opened: Shard | Promise<Shard>, acquireTimeoutMs: number): Promise<Lease> {
  if (!(opened instanceof Promise)) return opened.acquire()
  const since = performance.now()
  const shard = await opened
  return shard.acquire({ timeoutMs: Math.max(1, Math.ceil(acquireTimeoutMs - (performance.now() - since))) })
}

/** Runs `work` with an exclusive connection, which is given back however it ends; after an error it is destroyed. */
export async function useShard<C, T>(
  opened: Shard | Promise<Shard>,
  acquireTimeoutMs: number,
  work: (client: C) => Promise<T> | T,
): Promise<T> {
  const atHand = opened instanceof Promise ? undefined : opened.acquireAtHand()
  const lease = atHand ?? (await leaseOf(opened, acquireTimeoutMs))
  try {
    const result = await work(lease.client as unknown as C)
    if (lease.state === 'active') await lease.release()
    return result
  } catch (error) {
    if (lease.state === 'active') lease.discard()
    throw error
  } finally {
    if (lease.state === 'failover' || lease.state === 'closed') await lease.release()
  }
}

/** They leave a mark on the server, not on the connection. */
const CONCERNS_THE_SERVER = /^(DEBUG|SHUTDOWN|FAILOVER|REPLICAOF|SLAVEOF|SWAPDB)$/

/** What a handle needs of its pool. */
export interface HandleContext {
  /** `pool.max`. */
  readonly maxLeases: number
  /** `pool.acquireTimeoutMs`. */
  readonly acquireTimeoutMs: number
  /** The shard of the present or last life; undefined before the first. */
  shard(): Shard | undefined
  /** The shard once the pool is open, at once when it is. Rejects with PoolClosedError when it is not, nor about to be. */
  open(): Shard | Promise<Shard>
  /** The same, bounded as a wait for a lease is. */
  openToLease(): Shard | Promise<Shard>
}

/** One shard as a user sees it: `pool.shards[i]`. Stays valid over reconnects of the pool. */
export class ShardHandle<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> {
  /** The master name. */
  readonly name: string
  readonly #context: HandleContext

  constructor(name: string, context: HandleContext) {
    this.name = name
    this.#context = context
  }

  /** Where the verified master listens; undefined before the first one. */
  get address(): Address | undefined {
    return this.#context.shard()?.address
  }

  /** `'connecting'` also before `connect()`. */
  get state(): ShardState {
    return this.#context.shard()?.state ?? 'connecting'
  }

  /** Figures at this moment; before `connect()` all of them 0. */
  get stats(): ShardStats {
    return this.#context.shard()?.stats() ?? noStats(this.name, this.#context.maxLeases)
  }

  /**
   * Runs `work` with an exclusive node-redis client of this shard.
   * @throws AcquireTimeoutError, ShardUnavailableError, PoolClosedError; and what `work` throws
   */
  async use<T>(work: (client: RedisClientType<M, F, S, RESP, TM>) => Promise<T> | T): Promise<T> {
    return useShard(this.#context.openToLease(), this.#context.acquireTimeoutMs, work)
  }

  /**
   * Sends a command to this very shard, whatever its keys, on the shared connection, one that blocks on a connection of its
   * own; the reply is as node-redis decodes it. `readOnly: true` lets it be repeated after a lost connection.
   * @default readOnly false
   * @throws UnsupportedCommandError for what would change the connection that everybody shares (SELECT, MULTI, SUBSCRIBE …)
   */
  async sendCommand(args: readonly RedisArgument[], options: { readonly readOnly?: boolean } = {}): Promise<unknown> {
    // Redis says nothing to an empty command, and the next one's reply would be taken for its own.
    if (!Array.isArray(args) || args.length === 0)
      throw new TypeError('a command is an array that begins with its name')
    const name = String(args[0]).toUpperCase()
    if (leavesAMark(args) && !CONCERNS_THE_SERVER.test(name)) {
      throw new UnsupportedCommandError(name, 'it changes the connection, which all calls share; use `shard.use(…)`')
    }
    if (lookUpCommand(name)?.flags.has('blocking')) {
      return this.use((client) => client.sendCommand([...args]) as Promise<unknown>)
    }
    const profile = { name, readOnly: options.readOnly === true }
    const opened = this.#context.open()
    // No turn between where there is nothing to wait for, so that commands keep the order they were called in.
    if (!(opened instanceof Promise)) return opened.execute(args, profile)
    const since = performance.now()
    return (await opened).execute(args, profile, { since })
  }
}

function noStats(name: string, max: number): ShardStats {
  return {
    name,
    state: 'connecting',
    address: undefined,
    generation: 0,
    configEpoch: undefined,
    calls: 0,
    inFlight: 0,
    waiting: 0,
    errors: 0,
    repeats: 0,
    failovers: 0,
    reconnects: 0,
    rebuilds: 0,
    roundTrip: undefined,
    leases: { size: 0, max, idle: 0, borrowed: 0, pending: 0, oldestLeaseMs: 0 },
    sockets: 0,
    replicas: [],
  }
}
