import type { CoarseClock } from '../async/clock.js'
import {
  CommandTimeoutError,
  ConnectionLostError,
  type Outcome,
  PoolClosedError,
  type ShardedSentinelPoolError,
  ShardUnavailableError,
} from '../errors.js'
import type { Settings } from '../options.js'
import { ErrorReply } from '../redis-client.js'
import type { CallOptions, CommandProfile } from './call.js'
import { classifyFailure } from './failure.js'
import type { MasterLink } from './master-link.js'

export interface CallEndsSettings {
  readonly shard: string
  readonly settings: Settings
  readonly link: Pick<MasterLink, 'state' | 'waiting' | 'usable' | 'waitedInVain'>
  readonly clock: CoarseClock
  /** Commands of the shard that have not ended. */
  inFlight(): number
}

/** When a call must end, and in which error it ends that no server has answered (R10, R11). */
export class CallEnds {
  /** Errors of ours that callers got, for stats. */
  count = 0
  readonly #settings: CallEndsSettings

  constructor(settings: CallEndsSettings) {
    this.#settings = settings
  }

  timeoutMs(options: CallOptions | undefined): number {
    return options?.timeoutMs ?? this.#settings.settings.commandTimeoutMs
  }

  /** From when the call was made: where it has waited before it came to the shard, its options say since when. */
  deadline(since: number, options: CallOptions | undefined): number {
    const timeoutMs = this.timeoutMs(options)
    return timeoutMs > 0 ? (options?.since ?? since) + timeoutMs : Number.POSITIVE_INFINITY
  }

  counted<E extends ShardedSentinelPoolError>(error: E): E {
    this.count++
    return error
  }

  /** Its own time-out has come: while it waited to be sent, it is told for what. */
  timedOut(profile: CommandProfile, options: CallOptions | undefined, outcome: Outcome): Error {
    const { shard, link } = this.#settings
    const waited = outcome === 'not-sent' && link.usable(profile) === undefined
    return waited ? link.waitedInVain() : new CommandTimeoutError(shard, profile.name, this.timeoutMs(options), outcome)
  }

  /** It was sent, and no answer will come. */
  lost(
    cause: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    now: number,
  ): ShardedSentinelPoolError {
    const { shard, link, clock } = this.#settings
    if (link.state === 'closed') return new PoolClosedError(undefined, { outcome: 'unknown', cause })
    const timeoutMs = this.timeoutMs(options)
    // A fence gives up a little before the deadline of the oldest call it stands for.
    const overdue = timeoutMs > 0 && deadline - now <= Math.min(250, timeoutMs / 4) + 2 * clock.tickMs
    return overdue
      ? new CommandTimeoutError(shard, profile.name, timeoutMs, 'unknown', { cause })
      : new ConnectionLostError(shard, profile.name, 'unknown', { cause })
  }

  /** It never ran, and time is up or it must not be sent again. What passes by itself is told as the server told it. */
  refused(error: unknown, profile: CommandProfile, options: CallOptions | undefined, late: boolean): unknown {
    const { shard, link } = this.#settings
    if (error instanceof ErrorReply) {
      const kind = classifyFailure(error)
      if (kind === 'not-yet' || kind === 'stale-login') return error
      return this.counted(new ShardUnavailableError(shard, 'no-master', link.waiting, { cause: error }))
    }
    if (link.state === 'closed') return this.counted(new PoolClosedError(undefined, { cause: error }))
    if (!late) return this.counted(new ConnectionLostError(shard, profile.name, 'not-sent', { cause: error }))
    const timeoutMs = this.timeoutMs(options)
    return this.counted(new CommandTimeoutError(shard, profile.name, timeoutMs, 'not-sent', { cause: error }))
  }

  full(cause?: unknown): ShardUnavailableError {
    const { shard, inFlight } = this.#settings
    return this.counted(new ShardUnavailableError(shard, 'too-many-in-flight', inFlight(), { cause }))
  }
}
