import { Assembly } from './assembly.js'
import { RoutedClient } from './commands/routed-client.js'
import type { UserMethods } from './commands/surface.js'
import { PoolClosedError, ShardUnavailableError, UnknownMasterError } from './errors.js'
import type { PoolEvents } from './events.js'
import { type PoolOptions, readOptions, type Settings } from './options.js'
import { checkPlacement } from './placement-guard.js'
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
import { type PoolLease, ShardHandle, typedLease, useShard } from './shard-handle.js'
import type { PoolStats } from './stats.js'

type State = 'idle' | 'connecting' | 'open' | 'closing'

/** What a pool keeps between and during its connected lives. */
interface Core {
  readonly settings: Settings
  readonly ring: Ring
  readonly dataFactory: ConnectionFactory
  readonly sentinelFactory: ConnectionFactory
  /** The shards of the present life; the router holds the same array. */
  readonly shards: Shard[]
  state: State
  assembly: Assembly | undefined
  connecting: Promise<void> | undefined
  closing: Promise<void> | undefined
  /** Told of each failed attempt to find a master while `connect()` is under way. */
  onAttemptFailed: ((shard: string, error: Error) => void) | undefined
  /** Aborts the `connect()` under way. */
  abortConnect: AbortController | undefined
  readonly emit: EmitFn
}

type EmitFn = <E extends keyof PoolEvents>(event: E, ...args: Parameters<PoolEvents[E]>) => void

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
    const dataFactory = new ConnectionFactory(options.client as ClientOptions | undefined)
    const shards: Shard[] = []
    super({
      ring,
      shards,
      template: dataFactory.template(),
      keyPrefix: dataFactory.keyPrefix,
      typeMapping: dataFactory.typeMapping,
      crossShardMulti: settings.crossShardMulti,
      waitUntilOpen: () => (this[CORE].state === 'open' ? undefined : waitUntilOpen(this[CORE])),
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
      onAttemptFailed: undefined,
      abortConnect: undefined,
      emit: (event, ...args) => emitSafely(this, event, args),
    }
    this.shards = settings.masters.map(({ name }, i) => new ShardHandle(name, () => shardAt(this[CORE], i)))
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
    const shard = await openShard(this[CORE], this.shardIndexOf(key as RedisArgument))
    return useShard(shard, work)
  }

  /** The same, held by hand: `await using lease = await pool.acquire(key)`, or `lease.release()` in a `finally`. */
  async acquire(key: string | Uint8Array): Promise<PoolLease<RedisClientType<M, F, S, RESP, TM>>> {
    const shard = await openShard(this[CORE], this.shardIndexOf(key as RedisArgument))
    return typedLease(await shard.acquire())
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
}

// Functions of the core rather than methods: what a view inherits must not touch `#private` members.

async function connect(core: Core): Promise<void> {
  if (core.closing !== undefined) await core.closing
  if (core.state === 'idle') {
    core.state = 'connecting'
    core.connecting = open(core).finally(() => {
      core.connecting = undefined
    })
    // Calls that wait for it report its failure too; a pool whose `connect()` is not awaited must not kill the process.
    core.connecting.catch(() => {})
  }
  await core.connecting
}

async function open(core: Core): Promise<void> {
  const { settings, dataFactory, sentinelFactory, emit } = core
  const abort = new AbortController()
  core.abortConnect = abort
  const assembly = new Assembly({
    settings,
    dataFactory,
    sentinelFactory,
    listener: {
      onFailover: (event) => emit('failover', event),
      onReconnect: (event) => emit('reconnect', event),
      onDown: (event) => {
        emit('shard-down', event)
        emit('reconnecting')
      },
      onLeak: (event) => emit('lease-leak', event),
      onSentinelEvent: (event) => emit('sentinel', event),
      onSentinelState: (event) => emit('sentinel-state', event),
      onError: (error) => emit('error', error),
      onAttemptFailed: (shard, error) => core.onAttemptFailed?.(shard, error),
    },
  })
  core.assembly = assembly
  core.shards.splice(0, Number.POSITIVE_INFINITY, ...assembly.shards)
  try {
    emit('connect')
    await masters(core, assembly, abort)
    if (settings.placementGuard !== 'off') {
      const ready = assembly.shards.filter((shard) => shard.address !== undefined)
      await checkPlacement(ready, core.ring, settings.placementGuard, (event) => emit('placement-unchecked', event))
    }
    abort.signal.throwIfAborted()
    core.state = 'open'
  } catch (error) {
    assembly.destroy()
    core.assembly = undefined
    core.state = 'idle'
    throw abort.signal.aborted ? abort.signal.reason : error
  } finally {
    core.onAttemptFailed = undefined
    core.abortConnect = undefined
  }
  emit('ready')
}

/** Waits until every shard has a verified master; without `requireAllShards` until each has one or has failed once. */
async function masters(core: Core, assembly: Assembly, abort: AbortController): Promise<void> {
  const { requireAllShards, connectDeadlineMs } = core.settings
  const failed = new Map<string, Error>()
  let onFailure = () => {}
  core.onAttemptFailed = (shard, error) => {
    failed.set(shard, error)
    // A name nobody knows is a typo: no second round makes it right.
    if (error instanceof UnknownMasterError && requireAllShards) abort.abort(error)
    onFailure()
  }
  const timer = setTimeout(() => abort.abort(firstFailure(assembly.shards)), connectDeadlineMs)
  const readiness = assembly.shards.map((shard) => shard.whenReady(abort.signal))
  const settled = Promise.all(readiness)
  settled.catch(() => {})
  try {
    assembly.start()
    if (requireAllShards) await settled
    else {
      const enough = new Promise<void>((resolve) => {
        onFailure = () => {
          const missing = assembly.shards.filter((shard) => shard.address === undefined)
          if (missing.length < assembly.shards.length && missing.every((shard) => failed.has(shard.name))) resolve()
        }
      })
      for (const ready of readiness) ready.then(() => onFailure()).catch(() => {})
      await Promise.race([settled, enough])
    }
  } finally {
    clearTimeout(timer)
  }
}

function firstFailure(shards: readonly Shard[]): Error {
  const missing = shards.find((shard) => shard.address === undefined)
  return missing?.lastError ?? new ShardUnavailableError(missing?.name ?? '', 'no-master', 0)
}

function waitUntilOpen(core: Core): Promise<void> {
  return (
    core.connecting ??
    Promise.reject(new PoolClosedError(core.state === 'idle' ? 'the pool is not connected' : undefined))
  )
}

async function openShard(core: Core, index: number): Promise<Shard> {
  if (core.state !== 'open') await waitUntilOpen(core)
  return core.shards[index]!
}

function shardAt(core: Core, index: number): Shard {
  const shard = core.shards[index]
  if (shard === undefined) throw new PoolClosedError('the pool is not connected')
  return shard
}

function close(core: Core, timeoutMs = core.settings.commandTimeoutMs || 5_000): Promise<void> {
  core.abortConnect?.abort(new PoolClosedError())
  if (core.closing !== undefined) return core.closing
  const { assembly } = core
  if (core.state !== 'open' || assembly === undefined) return (core.connecting ?? Promise.resolve()).catch(() => {})
  core.state = 'closing'
  core.closing = assembly.close(timeoutMs).finally(() => ended(core, assembly))
  return core.closing
}

function destroy(core: Core): void {
  core.abortConnect?.abort(new PoolClosedError())
  const { assembly } = core
  if (assembly === undefined) return
  assembly.destroy()
  if (core.state === 'open') ended(core, assembly)
}

function ended(core: Core, assembly: Assembly): void {
  if (core.assembly !== assembly) return
  core.assembly = undefined
  core.closing = undefined
  core.state = 'idle'
  core.emit('end')
}

/** A listener that throws is the listener's bug; it must not stop a failover half way. It surfaces as any uncaught error does. */
function emitSafely(pool: EventTarget, event: keyof PoolEvents, args: readonly unknown[]): void {
  try {
    pool.emit(event, ...args)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

interface EventTarget {
  emit(event: string, ...args: unknown[]): boolean
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

// The methods of the user's definitions are put on by RoutedClient at run time; a class cannot say so in its type.
export const ShardedSentinelPool: ShardedSentinelPoolConstructor = Pool as unknown as ShardedSentinelPoolConstructor
