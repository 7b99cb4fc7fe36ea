import type { Address } from './address.js'
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

/** Runs `work` with an exclusive connection, which is given back however it ends; after an error it is destroyed. */
export async function useShard<C, T>(shard: Shard, work: (client: C) => Promise<T> | T): Promise<T> {
  const lease = await shard.acquire()
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
  readonly #shard: () => Shard

  constructor(name: string, shard: () => Shard) {
    this.name = name
    this.#shard = shard
  }

  /** Where the verified master listens; undefined before the first one. */
  get address(): Address | undefined {
    return this.#shard().address
  }

  get state(): ShardState {
    return this.#shard().state
  }

  get stats(): ShardStats {
    return this.#shard().stats()
  }

  /** Runs `work` with an exclusive node-redis client of this shard. @throws AcquireTimeoutError, ShardUnavailableError */
  use<T>(work: (client: RedisClientType<M, F, S, RESP, TM>) => Promise<T> | T): Promise<T> {
    return useShard(this.#shard(), work)
  }

  /**
   * Sends a command to this very shard, whatever its keys, on the shared connection; the reply is as node-redis decodes
   * it. `readOnly: true` lets it be repeated after a lost connection. @default readOnly false
   */
  sendCommand(args: readonly RedisArgument[], options: { readonly readOnly?: boolean } = {}): Promise<unknown> {
    return this.#shard().execute(args, { name: String(args[0]).toUpperCase(), readOnly: options.readOnly === true })
  }
}
