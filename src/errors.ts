/* Longer than most: whoever handles errors finds every one of them here. */
import type { Address } from './address.js'

/**
 * Every error this library makes, one class each. Match on `code`: it is stable within a major version, the sentence is
 * not. `cause` keeps what another layer threw. No error carries a password, a key's value or an argument of a command.
 *
 * Replies of the server (`WRONGTYPE …`, `OOM …`) are not among them: they stay node-redis's own `ErrorReply`.
 */
export type ErrorCode =
  | 'INVALID_OPTIONS'
  | 'INVALID_KEY'
  | 'CROSS_SHARD'
  | 'UNSUPPORTED_COMMAND'
  | 'POOL_CLOSED'
  | 'SENTINELS_UNREACHABLE'
  | 'UNKNOWN_MASTER'
  | 'ROLE_MISMATCH'
  | 'SHARD_UNAVAILABLE'
  | 'ACQUIRE_TIMEOUT'
  | 'COMMAND_TIMEOUT'
  | 'CONNECTION_LOST'
  | 'LEASE_RELEASED'
  | 'PLACEMENT_MISMATCH'
  | 'MULTI_SHARD'
  | 'NOT_REPLICATED'
  | 'MASTER_UNREACHABLE'

/**
 * What is known of a call that ended in an error. `'not-sent'`: no byte of it left this process, or the server refused it
 * unexecuted. `'unknown'`: it was sent and no answer came back, so it may have run.
 */
export type Outcome = 'not-sent' | 'unknown'

/** What every error may be given besides its own facts: `cause`. */
export interface ErrorSettings {
  cause?: unknown
}

/** The base of all errors of this library: match on `code`, which narrows to the class. */
export abstract class ShardedSentinelPoolError extends Error {
  abstract readonly code: ErrorCode
  /** True when the same call may succeed later without anyone changing the program or its options. */
  readonly retryable: boolean

  protected constructor(message: string, retryable: boolean, settings?: ErrorSettings) {
    super(message, settings?.cause === undefined ? undefined : { cause: settings.cause })
    this.name = new.target.name
    this.retryable = retryable
  }
}

/** An option is missing, of the wrong type, out of its bounds or not known. `option` is its path, such as `pool.max`. */
export class InvalidOptionsError extends ShardedSentinelPoolError {
  readonly code = 'INVALID_OPTIONS'
  readonly option: string
  constructor(option: string, message: string, settings?: ErrorSettings) {
    super(message, false, settings)
    this.option = option
  }
}

/** A key is neither a string nor bytes (`Buffer`, `Uint8Array`). Thrown before anything is sent. */
export class InvalidKeyError extends ShardedSentinelPoolError {
  readonly code = 'INVALID_KEY'
  /** `typeof` of what was given; `'null'` for null. */
  readonly received: string
  constructor(key: unknown, settings?: ErrorSettings) {
    const received = key === null ? 'null' : typeof key
    super(`a key must be a string or bytes, not ${received}`, false, settings)
    this.received = received
  }
}

/** A key as commands take it. */
export type KeyLike = string | Uint8Array

/** One command, or one transaction, names keys of more than one shard. Thrown before anything is sent. */
export class CrossShardError extends ShardedSentinelPoolError {
  readonly code = 'CROSS_SHARD'
  readonly command: string
  readonly keys: readonly KeyLike[]
  /** The master name that owns each key, in the order of `keys`. */
  readonly shards: readonly string[]
  constructor(command: string, keys: readonly KeyLike[], shards: readonly string[], settings?: ErrorSettings) {
    const names = [...new Set(shards)].join(', ')
    super(
      `${command} names ${keys.length} keys on several shards (${names}); give the keys one hash tag, such as {user:1}`,
      false,
      settings,
    )
    this.command = command
    this.keys = keys
    this.shards = shards
  }
}

/** A command that cannot be routed, or that makes no sense on a shared connection. `hint` says what to use instead. */
export class UnsupportedCommandError extends ShardedSentinelPoolError {
  readonly code = 'UNSUPPORTED_COMMAND'
  readonly command: string
  readonly hint: string
  constructor(command: string, hint: string, settings?: ErrorSettings) {
    super(`${command} is not supported by the pool: ${hint}`, false, settings)
    this.command = command
    this.hint = hint
  }
}

/** The pool is not connected: `connect()` was not called yet, or `close()` / `destroy()` was. Nothing was sent. */
export class PoolClosedError extends ShardedSentinelPoolError {
  readonly code = 'POOL_CLOSED'
  readonly outcome: Outcome
  // node-redis's own sentence by default: there are libraries that know the end of a client by it.
  constructor(message = 'The client is closed', settings?: ErrorSettings & { outcome?: Outcome }) {
    super(message, false, settings)
    this.outcome = settings?.outcome ?? 'not-sent'
  }
}

/** What one sentinel answered, or why it did not. */
export interface SentinelAnswer {
  readonly sentinel: string
  /** `host:port` it named; null when it does not know the master; undefined when it did not answer. */
  readonly address?: string | null
  /** Why there is no answer: the system's code (`ECONNREFUSED`), `'timeout'`, or the reply (`NOAUTH …`). */
  readonly error?: string
}

function listAnswers(answers: readonly SentinelAnswer[]): string {
  return answers.map((a) => `${a.sentinel}: ${a.error ?? (a.address === null ? 'unknown' : a.address)}`).join('; ')
}

/** No sentinel answered. `answers` says why, sentinel by sentinel. */
export class SentinelsUnreachableError extends ShardedSentinelPoolError {
  readonly code = 'SENTINELS_UNREACHABLE'
  readonly masterName: string
  readonly answers: readonly SentinelAnswer[]
  constructor(masterName: string, answers: readonly SentinelAnswer[], settings?: ErrorSettings) {
    super(`no sentinel could be asked for '${masterName}' (${listAnswers(answers)})`, true, settings)
    this.masterName = masterName
    this.answers = answers
  }
}

/** Sentinels answered, and none of them monitors a master of this name. */
export class UnknownMasterError extends ShardedSentinelPoolError {
  readonly code = 'UNKNOWN_MASTER'
  readonly masterName: string
  readonly answers: readonly SentinelAnswer[]
  constructor(masterName: string, answers: readonly SentinelAnswer[], settings?: ErrorSettings) {
    super(`no sentinel knows a master named '${masterName}' (${listAnswers(answers)})`, false, settings)
    this.masterName = masterName
    this.answers = answers
  }
}

/** The node that was named as the master says with ROLE (or INFO replication) that it is something else. */
export class RoleMismatchError extends ShardedSentinelPoolError {
  readonly code = 'ROLE_MISMATCH'
  readonly masterName: string
  readonly address: Address
  /** What the node said: `'slave'`, `'sentinel'`, or an error reply such as `LOADING`. */
  readonly role: string
  constructor(masterName: string, address: Address, role: string, settings?: ErrorSettings) {
    super(
      `${address.host}:${address.port} was named as master of '${masterName}' but says it is '${role}'`,
      true,
      settings,
    )
    this.masterName = masterName
    this.address = address
    this.role = role
  }
}

/** Why a shard cannot take a call. */
export type UnavailableReason = 'no-master' | 'no-replica' | 'too-many-waiting' | 'too-many-in-flight'

/** The shard has no verified master (or no replica to read from), or one of its bounds is reached. The call was not sent. */
export class ShardUnavailableError extends ShardedSentinelPoolError {
  readonly code = 'SHARD_UNAVAILABLE'
  readonly outcome: Outcome = 'not-sent'
  readonly shard: string
  readonly reason: UnavailableReason
  readonly waiting: number
  constructor(shard: string, reason: UnavailableReason, waiting: number, settings?: ErrorSettings) {
    super(`shard '${shard}' cannot take the call (${reason}, ${waiting} waiting)`, true, settings)
    this.shard = shard
    this.reason = reason
    this.waiting = waiting
  }
}

/** Where a shard's connections are, at one moment. */
export interface AcquirePicture {
  /** Connections that exist or are being made, and the most there may be (`pool.max`). */
  readonly size: number
  readonly max: number
  readonly idle: number
  readonly borrowed: number
  readonly pending: number
  /** Age in ms of the lease that has been out longest; 0 when none is out. */
  readonly oldestLeaseMs: number
}

/** No exclusive connection became free or could be opened within `pool.acquireTimeoutMs`, or `pool.maxWaiting` callers wait already. */
export class AcquireTimeoutError extends ShardedSentinelPoolError {
  readonly code = 'ACQUIRE_TIMEOUT'
  readonly shard: string
  readonly timeoutMs: number
  readonly picture: AcquirePicture
  constructor(shard: string, timeoutMs: number, picture: AcquirePicture, settings?: ErrorSettings) {
    super(
      `no connection of shard '${shard}' within ${timeoutMs} ms (size ${picture.size} of ${picture.max}, idle ${picture.idle}, ` +
        `borrowed ${picture.borrowed}, pending ${picture.pending}, oldest lease ${picture.oldestLeaseMs} ms)${
          picture.borrowed >= picture.max ? ': all are out; raise pool.max, or give leases back sooner' : ''
        }${settings?.cause === undefined ? '' : ': none could be opened, see `cause`'}`,
      true,
      settings,
    )
    this.shard = shard
    this.timeoutMs = timeoutMs
    this.picture = picture
  }
}

/** A call reached its deadline. `outcome` says whether it may have run. */
export class CommandTimeoutError extends ShardedSentinelPoolError {
  readonly code = 'COMMAND_TIMEOUT'
  readonly shard: string
  readonly command: string
  readonly timeoutMs: number
  readonly outcome: Outcome
  constructor(shard: string, command: string, timeoutMs: number, outcome: Outcome, settings?: ErrorSettings) {
    super(
      `${command} on shard '${shard}' had no answer by its deadline of ${timeoutMs} ms (outcome ${outcome})`,
      true,
      settings,
    )
    this.shard = shard
    this.command = command
    this.timeoutMs = timeoutMs
    this.outcome = outcome
  }
}

/** The connection went away under the call, and the call was not safe to repeat. */
export class ConnectionLostError extends ShardedSentinelPoolError {
  readonly code = 'CONNECTION_LOST'
  readonly shard: string
  readonly command: string
  readonly outcome: Outcome
  constructor(shard: string, command: string, outcome: Outcome, settings?: ErrorSettings) {
    super(`${command} lost its connection to shard '${shard}' (outcome ${outcome})`, true, settings)
    this.shard = shard
    this.command = command
    this.outcome = outcome
  }
}

/** How a lease ended. */
export type LeaseEnd = 'released' | 'discarded' | 'failover' | 'closed'

/** A lease was used, or given back, after its end. `why` tells which end. */
export class LeaseReleasedError extends ShardedSentinelPoolError {
  readonly code = 'LEASE_RELEASED'
  readonly shard: string
  readonly why: LeaseEnd
  readonly outcome: Outcome
  constructor(shard: string, why: LeaseEnd, settings?: ErrorSettings & { outcome?: Outcome }) {
    super(`the lease of shard '${shard}' has ended (${why})`, why === 'failover', settings)
    this.shard = shard
    this.why = why
    this.outcome = settings?.outcome ?? 'not-sent'
  }
}

/** Keys would be looked for on other shards than where they were put: see `placementGuard`. */
export class PlacementMismatchError extends ShardedSentinelPoolError {
  readonly code = 'PLACEMENT_MISMATCH'
  /** What this pool's ring says, in text. */
  readonly expected: string
  /** What each disagreeing shard holds instead. */
  readonly found: readonly { readonly shard: string; readonly claim: string }[]
  constructor(expected: string, found: readonly { shard: string; claim: string }[], settings?: ErrorSettings) {
    const lines = found.map((f) => `\n  ${f.shard} holds: ${f.claim}`).join('')
    super(
      `key placement differs from the claim stored on the shards\n  this pool: ${expected}${lines}`,
      false,
      settings,
    )
    this.expected = expected
    this.found = found
  }
}

/** How one shard's part of a split command ended. Exactly one of `result` and `error` is there. */
export interface ShardOutcome {
  readonly shard: string
  readonly keys: readonly KeyLike[]
  readonly result?: unknown
  readonly error?: unknown
}

/** A command that was split over shards failed on some of them. Thrown after every part has ended. */
export class MultiShardError extends ShardedSentinelPoolError {
  readonly code = 'MULTI_SHARD'
  readonly command: string
  readonly outcomes: readonly ShardOutcome[]
  /** `'not-sent'` when no part has run; else `'unknown'`: some have run or may have, as `outcomes` tells one by one. */
  readonly outcome: Outcome
  constructor(command: string, outcomes: readonly ShardOutcome[], settings?: ErrorSettings & { retryable?: boolean }) {
    const failed = outcomes.filter((o) => 'error' in o)
    super(
      `${command} failed on ${failed.length} of ${outcomes.length} shards (${failed.map((o) => o.shard).join(', ')})`,
      settings?.retryable ?? failed.every((o) => (o.error as { retryable?: boolean } | undefined)?.retryable === true),
      { cause: settings?.cause ?? failed[0]?.error },
    )
    this.command = command
    this.outcomes = outcomes
    const hasNotRun = (o: ShardOutcome) => (o.error as { outcome?: Outcome } | undefined)?.outcome === 'not-sent'
    this.outcome = outcomes.every(hasNotRun) ? 'not-sent' : 'unknown'
  }
}

/** A write ran on the master, but fewer replicas than asked for had it in time (`withReplicaAck`). It stands, for now. */
export class NotReplicatedError extends ShardedSentinelPoolError {
  readonly code = 'NOT_REPLICATED'
  readonly outcome = 'not-replicated'
  readonly shard: string
  readonly command: string
  /** Replicas asked for, and how long they were waited for in ms. */
  readonly required: { readonly replicas: number; readonly timeoutMs: number }
  /** Replicas that had the write when the wait ended; 0 where that could not be asked (`cause` is set then). */
  readonly acknowledged: number
  /** The master's reply to the write, before node-redis's transformation. */
  readonly reply: unknown
  constructor(
    shard: string,
    command: string,
    required: { readonly replicas: number; readonly timeoutMs: number },
    acknowledged: number,
    reply: unknown,
    settings?: ErrorSettings,
  ) {
    super(
      settings?.cause === undefined
        ? `${command} on shard '${shard}' reached ${acknowledged} of ${required.replicas} replicas within ${required.timeoutMs} ms`
        : `${command} on shard '${shard}' ran, and whether ${required.replicas} replicas have it could not be told, see \`cause\``,
      false,
      settings,
    )
    this.shard = shard
    this.command = command
    this.required = required
    this.acknowledged = acknowledged
    this.reply = reply
  }
}

/** The node that is named as master cannot be reached, or does not let us in. */
export class MasterUnreachableError extends ShardedSentinelPoolError {
  readonly code = 'MASTER_UNREACHABLE'
  readonly masterName: string
  /** Where the connection was tried, after `addressMap`. */
  readonly address: Address
  /** The system's code (`ECONNREFUSED`, `ETIMEDOUT`), or the first word of the reply (`WRONGPASS`). */
  readonly why: string
  constructor(masterName: string, address: Address, why: string, message: string, settings?: ErrorSettings) {
    super(message, true, settings)
    this.masterName = masterName
    this.address = address
    this.why = why
  }
}
