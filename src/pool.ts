import { formatAddress } from './address.js'
import { publish } from './channels.js'
import { RoutedClient } from './commands/routed-client.js'
import type { UserMethods } from './commands/surface.js'
import { type Core, close, connect, destroy, emitSafely, openShard, shardToLease, waitUntilOpen } from './life-cycle.js'
import { type PoolOptions, readOptions } from './options.js'
import {
  type ClientOptions,
  ConnectionFactory,
  type RedisArgument,
  type RedisClientType,
  type RedisFunctions,
  type RedisModules,
  type RedisScripts,
  type RespVersions,
  type TypeMapping,
} from './redis-client.js'
import { createRing, type Ring } from './ring/index.js'
import type { Shard } from './shard/shard.js'
import { leaseOf, type PoolLease, ShardHandle, typedLease, useShard } from './shard-handle.js'
import type { PoolStats } from './stats.js'

/** One symbol, since views (`withTypeMapping` …) inherit from the pool, and `#private` fields are not inherited. */
const CORE: unique symbol = Symbol('core')

/**
 * Client-side sharding over Redis masters that Sentinel keeps alive. It stands where a node-redis client stood: every
 * command has node-redis's name, arguments and reply, and goes to the shard that owns its keys.
 *
 * The life of a call: the command's keys decide the shard (no I/O), the shard sends it on its shared connection, the reply
 * is transformed as node-redis does. While a shard has no verified master its calls wait, bounded; what was refused or not
 * sent is repeated within the deadline, what may have run only if it is read-only. Every other end is a typed error with a
 * `code` (see `ShardedSentinelPoolError`); errors of connections and sentinels never leave by themselves.
 */
class Pool<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> extends RoutedClient<M, F, S, RESP, TM> {
  /** @internal */
  readonly [CORE]: Core
  /** The shards in the order of `masters`. */
  readonly shards: readonly ShardHandle<M, F, S, RESP, TM>[]

  /** Checks the options; opens nothing. @throws InvalidOptionsError */
  constructor(options: PoolOptions<M, F, S, RESP, TM>) {
    const settings = readOptions(options)
    const names = settings.masters.map(({ name, weight, label }) => ({ name, weight, label }))
    const ring = createRing({ shards: names, ring: options.ring ?? { preset: 'murmur3' } })
    const client = options.client as ClientOptions | undefined
    const dataFactory = new ConnectionFactory({ ...client }, settings.maxInFlight)
    const shards: Shard[] = []
    let onNewGeneration: (shardIndex: number) => void = () => {}
    super({
      ring,
      shards,
      template: dataFactory.template(),
      keyPrefix: dataFactory.keyPrefix,
      typeMapping: dataFactory.typeMapping,
      crossShardMulti: settings.crossShardMulti,
      commandTimeoutMs: settings.commandTimeoutMs,
      onMasterChanged: (listener) => {
        onNewGeneration = listener
      },
      openSubscriber: async (index) => (await shardToLease(this[CORE], index)).openSubscriber(),
      onSubscriptionGap: (gap) => this[CORE].emit('subscription-gap', gap),
      onListenerError: (error) => this[CORE].emit('error', error instanceof Error ? error : new Error(String(error))),
      waitUntilOpen: (options) => (this[CORE].state === 'open' ? undefined : waitUntilOpen(this[CORE], options)),
    })
    this[CORE] = {
      settings,
      ring,
      dataFactory,
      // Sentinels of every age speak RESP 2, and a subscriber needs nothing more.
      sentinelFactory: new ConnectionFactory({ RESP: 2, ...options.sentinelClient }),
      shards,
      state: 'idle',
      assembly: undefined,
      connecting: undefined,
      closing: undefined,
      ends: 0,
      waiting: 0,
      onAttemptFailed: undefined,
      abortConnect: undefined,
      clientOptions: withoutSecrets(client),
      // The options live in this closure only: nothing that prints the pool can show their credentials.
      duplicate: (overrides) => new Pool({ ...options, ...overrides } as PoolOptions<M, F, S, RESP, TM>),
      onNewGeneration: (index) => onNewGeneration(index),
      onEnded: () => this.endSubscriptions(),
      emit: (event, ...args) => {
        publish(event, this, settings.name, args[0])
        emitSafely(this, event, args)
      },
    }
    this.shards = settings.masters.map(
      ({ name }, i) =>
        new ShardHandle(name, {
          maxLeases: settings.pool.max,
          acquireTimeoutMs: settings.pool.acquireTimeoutMs,
          shard: () => shards[i],
          open: () => openShard(this[CORE], i),
          openToLease: () => shardToLease(this[CORE], i),
        }),
    )
  }

  /**
   * Finds and verifies every master, then resolves with the pool. Calls made meanwhile wait for it. May be called again
   * after `close()`; a second call while open or connecting changes nothing.
   *
   * @throws UnknownMasterError in the first round, for a name no sentinel knows
   * @throws PlacementMismatchError when the data was placed by another ring (`placementGuard`)
   * @throws the reason why a shard has no master after `connectDeadlineMs`. No socket is left then.
   */
  async connect(): Promise<this> {
    await connect(this[CORE])
    return this
  }

  /** A new pool with the same options, not connected: for a library that wants a connection of its own to subscribe with. */
  duplicate(overrides?: Partial<PoolOptions<M, F, S, RESP, TM>>): ShardedSentinelPool<M, F, S, RESP, TM> {
    return this[CORE].duplicate(overrides ?? {}) as ShardedSentinelPool<M, F, S, RESP, TM>
  }

  /** The `client` options as node-redis's `client.options` shows them, without credentials. */
  get options(): Readonly<Record<string, unknown>> {
    return this[CORE].clientOptions
  }

  /** True from `connect()` on until `close()` or `destroy()`. */
  get isOpen(): boolean {
    return this[CORE].state === 'open' || this[CORE].state === 'connecting'
  }

  /** True while every shard has a verified master. */
  get isReady(): boolean {
    return (
      this[CORE].state === 'open' &&
      this[CORE].shards.every((shard) => shard.address !== undefined && shard.state !== 'rebuilding')
    )
  }

  /** The ring that places the keys: `ring.describe()` tells every shard's share. */
  get ring(): Ring {
    return this[CORE].ring
  }

  /** Master name of the shard that owns `key`. No I/O; works before `connect()` and after `close()`. @throws InvalidKeyError */
  locate(key: string | Uint8Array): string {
    return this[CORE].settings.masters[this.shardIndexOf(key as RedisArgument)]!.name
  }

  /**
   * Runs `work` with an exclusive node-redis client of the shard that owns `key`: for WATCH, blocking commands, and
   * whatever needs a connection of its own. Given back however `work` ends.
   * @throws AcquireTimeoutError, ShardUnavailableError, PoolClosedError; and what `work` throws
   */
  async use<T>(
    key: string | Uint8Array,
    work: (client: RedisClientType<M, F, S, RESP, TM>) => Promise<T> | T,
  ): Promise<T> {
    const opened = shardToLease(this[CORE], this.shardIndexOf(key as RedisArgument))
    return await useShard(opened, this[CORE].settings.pool.acquireTimeoutMs, work)
  }

  /** The same, held by hand: `await using lease = await pool.acquire(key)`, or `lease.release()` in a `finally`. */
  async acquire(key: string | Uint8Array): Promise<PoolLease<RedisClientType<M, F, S, RESP, TM>>> {
    const opened = shardToLease(this[CORE], this.shardIndexOf(key as RedisArgument))
    return typedLease(await leaseOf(opened, this[CORE].settings.pool.acquireTimeoutMs))
  }

  /** Figures at this moment: plain data, no I/O. */
  stats(): PoolStats {
    const { shards, assembly } = this[CORE]
    return { shards: shards.map((shard) => shard.stats()), sentinels: assembly?.sentinelStats() ?? [] }
  }

  /**
   * Takes no new call, waits for leases and calls in flight, at most `timeoutMs`, then closes every socket. When it
   * resolves no socket and no timer is left. May be called at any time and twice; never rejects.
   * @param options.timeoutMs Bound in ms. @default `commandTimeoutMs` (5000 when that is 0)
   */
  close(options: { readonly timeoutMs?: number } = {}): Promise<void> {
    return close(this[CORE], options.timeoutMs)
  }

  /** Closes every socket now; what is in flight rejects. May be called at any time and twice. */
  destroy(): void {
    destroy(this[CORE])
  }

  /** As node-redis spells it: the same as `close()`. */
  async quit(): Promise<string> {
    await this.close()
    return 'OK'
  }

  /** As node-redis spells it: the same as `destroy()`. */
  async disconnect(): Promise<void> {
    this.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** What `console.log(pool)` shows: the shards, and nothing that a log should not hold. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    const shards = this.shards.map(({ name }, i) => {
      const shard = this[CORE].shards[i]
      return `${name} ${shard?.state ?? 'idle'}${shard?.address ? ` ${formatAddress(shard.address)}` : ''}`
    })
    return `ShardedSentinelPool { ${shards.join(', ')} }`
  }
}

function withoutSecrets(client: ClientOptions | undefined): Readonly<Record<string, unknown>> {
  const { username: _u, password: _p, credentialsProvider: _c, socket: _s, ...rest } = client ?? {}
  return Object.freeze({ RESP: 3, database: 0, ...rest })
}

/** No modules, functions or scripts but node-redis's own. */
type None = Record<never, never>

/** The pool, with the methods of the user's modules, functions and scripts (`client.modules` …) as node-redis types them. */
export type ShardedSentinelPool<
  M extends RedisModules = None,
  F extends RedisFunctions = None,
  S extends RedisScripts = None,
  RESP extends RespVersions = 3,
  TM extends TypeMapping = None,
> = Pool<M, F, S, RESP, TM> & UserMethods<M, F, S, RESP, TM>

/** How a pool is made; the types of modules, functions and scripts follow from `client`. */
export interface ShardedSentinelPoolConstructor {
  new <
    M extends RedisModules = None,
    F extends RedisFunctions = None,
    S extends RedisScripts = None,
    RESP extends RespVersions = 3,
    TM extends TypeMapping = None,
  >(
    options: PoolOptions<M, F, S, RESP, TM>,
  ): ShardedSentinelPool<M, F, S, RESP, TM>
}

// As it is known, in stack traces and when it is printed.
Object.defineProperty(Pool, 'name', { value: 'ShardedSentinelPool' })

// The methods of the user's definitions are put on by RoutedClient at run time; a class cannot say so in its type.
export const ShardedSentinelPool: ShardedSentinelPoolConstructor = Pool as unknown as ShardedSentinelPoolConstructor
