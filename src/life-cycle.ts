import { setMaxListeners } from 'node:events'
import { Assembly } from './assembly.js'
import { bounded, LONGEST_MS } from './async/deadline.js'
import { PoolClosedError, ShardUnavailableError, UnknownMasterError } from './errors.js'
import type { PoolEvents } from './events.js'
import type { Settings } from './options.js'
import { checkPlacement, LateGuard } from './placement-guard.js'
import { AbortError, type ConnectionFactory } from './redis-client.js'
import type { Ring } from './ring/index.js'
import type { CallOptions } from './shard/call.js'
import type { Shard } from './shard/shard.js'

/** `idle` → `connecting` → `open` → `closing` → `idle`: a closed pool may be connected again. */
type State = 'idle' | 'connecting' | 'open' | 'closing'

/** What a pool keeps between and during its connected lives. */
export interface Core {
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
  /** Counts `close()` and `destroy()`, so that a `connect()` sees one that came after it. */
  ends: number
  /** Calls that wait for the `connect()` under way. */
  waiting: number
  /** Told of each failed attempt to find a master while `connect()` is under way. */
  onAttemptFailed: ((shard: string, error: Error) => void) | undefined
  /** Aborts the `connect()` under way. */
  abortConnect: AbortController | undefined
  /** `client` options without credentials. */
  readonly clientOptions: Readonly<Record<string, unknown>>
  readonly duplicate: (overrides: object) => unknown
  /** A shard has connections of a new generation: cursors and subscriptions of the old one are void. */
  readonly onNewGeneration: (shardIndex: number) => void
  /** The pool has closed: subscriptions end with it. */
  readonly onEnded: () => void
  readonly emit: EmitFn
}

type EmitFn = <E extends keyof PoolEvents>(event: E, ...args: Parameters<PoolEvents[E]>) => void

export async function connect(core: Core): Promise<void> {
  const { ends } = core
  if (core.closing !== undefined) await core.closing
  // One that was called off a moment ago has yet to come to its end.
  if (core.abortConnect?.signal.aborted) await core.connecting?.catch(() => {})
  // Closed again while it waited: what was called last holds.
  if (core.ends !== ends) throw new PoolClosedError()
  if (core.state === 'idle') {
    core.state = 'connecting'
    // There before the first listener hears of it: a call that is made in a `connect` listener waits like any other.
    let settle: { resolve(): void; reject(error: unknown): void } | undefined
    core.connecting = new Promise((resolve, reject) => {
      settle = { resolve, reject }
    })
    // Calls that wait for it report its failure too; a pool whose `connect()` is not awaited must not kill the process.
    core.connecting.catch(() => {})
    open(core)
      .finally(() => {
        core.connecting = undefined
      })
      .then(settle!.resolve, settle!.reject)
  }
  await core.connecting
}

async function open(core: Core): Promise<void> {
  const { settings, dataFactory, sentinelFactory, emit } = core
  const abort = new AbortController()
  core.abortConnect = abort
  const guard = lateGuard(core)
  const assembly = new Assembly({
    settings,
    guard,
    dataFactory,
    sentinelFactory,
    listener: {
      onFailover: (event) => {
        renewed(core, event.shard)
        emit('failover', event)
      },
      onReconnect: (event) => {
        renewed(core, event.shard)
        emit('reconnect', event)
      },
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
  // Every shard waits with it; from eleven on Node would warn of a leak.
  setMaxListeners(0, abort.signal)
  // Whatever `connect()` is waiting for just then, a placement check too, ends with its sockets.
  abort.signal.addEventListener('abort', () => assembly.destroy(), { once: true })
  core.shards.splice(0, Number.POSITIVE_INFINITY, ...assembly.shards)
  try {
    emit('connect')
    await masters(core, assembly, abort)
    if (settings.placementGuard !== 'off') {
      const ready = assembly.shards.filter((shard) => shard.address !== undefined)
      for (const shard of assembly.shards) if (!ready.includes(shard)) guard?.expect(shard.name)
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
  for (const shard of assembly.shards) if (shard.address === undefined) announceLate(core, shard)
}

/** A shard that was not there at the start is down, as any other that has no master, until it joins. */
function announceLate({ emit }: Core, shard: Shard): void {
  const reason = 'connect'
  const startedAt = performance.now()
  emit('shard-down', { shard: shard.name, address: undefined, reason, cause: shard.lastError })
  // Never settles where the shard is closed before.
  void shard.whenReady(new AbortController().signal).then(() => {
    const durationMs = Math.round(performance.now() - startedAt)
    emit('reconnect', { shard: shard.name, address: shard.address!, reason, generation: shard.generation, durationMs })
  })
}

function lateGuard({ settings, ring, emit }: Core): LateGuard | undefined {
  const { placementGuard: mode, connectTimeoutMs: timeoutMs } = settings
  if (mode === 'off' || settings.requireAllShards) return undefined
  return new LateGuard({
    ring,
    mode,
    timeoutMs,
    onUnchecked: (event) => emit('placement-unchecked', event),
    onMismatch: (error) => emit('error', error),
  })
}

function renewed(core: Core, name: string): void {
  core.onNewGeneration(core.shards.findIndex((shard) => shard.name === name))
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

/**
 * For a call that came before the pool was connected: it waits, but no longer than any call may (R11), and only as many do
 * as may wait for the shards (R12). Resolves with the call's options, which say since when it has waited: its deadline is
 * one, from when it was made.
 */
export async function waitUntilOpen(
  core: Core,
  options: CallOptions | undefined,
  defaultMs = core.settings.commandTimeoutMs,
): Promise<CallOptions | undefined> {
  const { connecting, settings } = core
  if (connecting === undefined)
    throw new PoolClosedError(core.state === 'idle' ? 'the pool is not connected; call connect() first' : undefined)
  const { timeoutMs, abortSignal: signal } = options ?? {}
  if (signal?.aborted) throw new AbortError()
  if (core.waiting >= settings.pool.maxWaiting * settings.masters.length) throw unavailable(core, 'too-many-waiting')
  const since = performance.now()
  core.waiting++
  try {
    const boundMs = (timeoutMs ?? defaultMs) || LONGEST_MS
    await bounded(connecting, { timeoutMs: boundMs, signal, onTimeout: () => unavailable(core, 'no-master') })
  } catch (error) {
    throw signal?.aborted && error === signal.reason ? new AbortError() : error
  } finally {
    core.waiting--
  }
  return { typeMapping: core.dataFactory.typeMapping, ...options, since, plain: undefined }
}

function unavailable({ shards, waiting }: Core, reason: 'no-master' | 'too-many-waiting'): Error {
  const missing = shards.find((shard) => shard.address === undefined)
  return new ShardUnavailableError(missing?.name ?? '', reason, waiting, { cause: missing?.lastError })
}

/** The shard, as soon as the pool is open; at once, without a turn between, when it is. */
export function openShard(core: Core, index: number, defaultMs?: number): Shard | Promise<Shard> {
  if (core.state === 'open') return core.shards[index]!
  return waitUntilOpen(core, undefined, defaultMs).then(() => core.shards[index]!)
}

/** The same for an exclusive connection, which may take as long as any wait for one. */
export function shardToLease(core: Core, index: number): Shard | Promise<Shard> {
  return openShard(core, index, core.settings.pool.acquireTimeoutMs)
}

export function close(core: Core, timeoutMs = core.settings.commandTimeoutMs || 5_000): Promise<void> {
  core.ends++
  core.abortConnect?.abort(new PoolClosedError())
  if (core.closing !== undefined) return core.closing
  const { assembly } = core
  if (core.state !== 'open' || assembly === undefined) return (core.connecting ?? Promise.resolve()).catch(() => {})
  core.state = 'closing'
  core.onEnded()
  core.closing = assembly.close(timeoutMs).finally(() => ended(core, assembly))
  return core.closing
}

export function destroy(core: Core): void {
  core.ends++
  core.abortConnect?.abort(new PoolClosedError())
  const { assembly } = core
  if (assembly === undefined) return
  core.onEnded()
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
export function emitSafely(pool: EventTarget, event: keyof PoolEvents, args: readonly unknown[]): void {
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
