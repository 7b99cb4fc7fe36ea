import type { RedisArgument, TypeMapping } from '../redis-client.js'

/** What a shard must know of a command to carry it: its name for errors, and whether it may be repeated or held. */
export interface CommandProfile {
  /** As on the wire, upper case, with its subcommand: `GET`, `OBJECT ENCODING`. */
  readonly name: string
  /** True when running it twice changes nothing: it may then be repeated after it may have run, and is not held with writes. */
  readonly readOnly: boolean
  /** It is about the server or about all shards and not about a key: replicas are not asked, whatever `readFrom` says. */
  readonly ofMaster?: boolean
  /** Of a pipeline that is to be durable: which of its commands write. */
  readonly writes?: readonly boolean[]
}

/** What may be repeated after it may have run: see the option `retry`. */
export type RetryPolicy = 'safe' | 'never' | 'always'
/** Where read-only commands go: see the option `readFrom`. */
export type ReadFrom = 'master' | 'preferReplica' | 'replica'

/** Per-call settings. Made once per `withCommandOptions` and shared by its calls; absent fields mean the pool's own. */
export interface CallOptions {
  readonly typeMapping?: TypeMapping | undefined
  readonly abortSignal?: AbortSignal | undefined
  /** Deadline of this call in ms; 0 means none. Costs a timer, unlike the pool's `commandTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** When the call was made, as `performance.now()` has it, where it has waited before it came to its shard. */
  readonly since?: number | undefined
  readonly retry?: RetryPolicy | undefined
  readonly readFrom?: ReadFrom | undefined
  /** Writes resolve only when so many replicas have them (`withReplicaAck`). */
  readonly replicaAck?: ReplicaAck | undefined
  /** True when nothing but the type mapping differs from the pool's own settings: such a call goes the quick way. */
  readonly plain?: boolean | undefined
}

/** How durable a write must be before it resolves: a WAIT goes with it. */
export interface ReplicaAck {
  /** Replicas that must have the write. At least 1. */
  readonly replicas: number
  /** Longest time to wait for them, in ms. At least 1; within the call's own deadline. */
  readonly timeoutMs: number
}

/**
 * The face of a shard towards `commands/`. `send` then `recover` is split so that an ordinary command costs one promise hop:
 *
 *     const since = shard.clock.now
 *     try { reply = await shard.send(args, profile, options) }
 *     catch (error) { reply = await shard.recover(error, args, profile, options, since) }
 *     finally { shard.settled++ }
 */
export interface ShardPort {
  /** The shard's master name. */
  readonly name: string
  /** Its place in `masters` and in the ring. */
  readonly index: number
  /** A coarse clock in ms, good enough to count deadlines by. */
  readonly clock: { readonly now: number }
  /** Aborts when the shard has closed: nobody pauses any more. */
  readonly closed: AbortSignal
  /** Calls that have ended. The router adds one for each `send`. */
  settled: number
  /** Sends on the shared connection; waits, bounded, while the shard has none. */
  send(args: readonly RedisArgument[], profile: CommandProfile, options: CallOptions | undefined): Promise<unknown>
  /** Decides what a failed `send` means (R10): repeats it within the deadline, or throws the typed error. Never resolves twice. */
  recover(
    error: unknown,
    args: readonly RedisArgument[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number,
  ): Promise<unknown>
  /**
   * Sends several commands in one write with nothing between them on that connection, for MULTI … EXEC and pipelines.
   * Resolves with one entry per command in order, replies or ErrorReply objects; rejects only when the whole batch was lost
   * (then the error's `outcome` tells), never repeats anything by itself unless nothing was sent. `since`: when its call
   * began, where that was before.
   */
  sendBatch(
    commands: readonly (readonly RedisArgument[])[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    since?: number,
  ): Promise<readonly unknown[]>
  /** Takes an exclusive connection. See `lease.ts`. */
  acquire(options?: AcquireOptions): Promise<LeasePort>
}

/** What ends the wait for an exclusive connection sooner than `pool.acquireTimeoutMs`. */
export interface AcquireOptions {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** `active` while the lease lasts; then how it ended. */
export type LeaseState = 'active' | 'released' | 'discarded' | 'failover' | 'closed'

/** An exclusive connection as `commands/` uses it (blocking commands, WATCH, pub/sub). */
export interface LeasePort {
  readonly shard: string
  readonly state: LeaseState
  /** Sends on the exclusive connection. Rejects with LeaseReleasedError once the lease has ended or was poisoned by a failover. */
  send(args: readonly RedisArgument[], options?: CallOptions): Promise<unknown>
  /** Gives the connection back, cleaned or destroyed if dirty. A second call throws LeaseReleasedError. */
  release(): Promise<void>
  /** Gives it back to be destroyed. */
  discard(): void
}
