import type { Address } from '../address.js'
import type { Connection } from '../redis-client.js'

/** A node that has just proved to be the master, with the connection it proved it on. */
export interface VerifiedMaster {
  /** Where the connection goes to, after `addressMap`. */
  readonly address: Address
  /** Open, authenticated, and answered ROLE with master. The caller owns it and must destroy it. */
  readonly connection: Connection
  /** Sentinel's count of configurations; undefined where hidden by an ACL, or not announced yet, or without sentinels. */
  readonly configEpoch: number | undefined
  /** Who said so: `sentinel 127.0.0.1:26379`, `selected-slave`, `verified before`, `static`, `resolver`. */
  readonly namedBy: string
}

export interface AttemptRequest {
  /** Aborting gives up at once with the signal's reason and leaves no socket of this attempt. */
  readonly signal: AbortSignal
  /** Bound on the whole attempt, in ms. */
  readonly timeoutMs: number
}

export interface LookupRequest extends AttemptRequest {
  /** The addresses will do where all name the master that was verified last: most of what a sentinel says is not read then. */
  readonly brief?: boolean | undefined
}

export interface ResolveRequest extends AttemptRequest {
  /** An address that a message named, as the watcher gave it (mapped). Counts for nothing until sentinels and ROLE confirm it. */
  readonly hint?: Address | undefined
  /** The sentinel that sent the message, as the watcher gave it: its own answer is waited for before deciding. */
  readonly hintedBy?: Address | undefined
}

export interface FollowRequest extends AttemptRequest {
  /** Time between two questions to the candidate, in ms. @default 5 */
  readonly intervalMs?: number | undefined
  /** The master it is to replace, as the message said (mapped). */
  readonly replaces?: Address | undefined
}

/** What is said of a master, not proved by ROLE. */
export interface NamedMaster {
  readonly address: Address
  readonly configEpoch?: number | undefined
  readonly namedBy: string
}

/** "Who is the master of this name?" Every address that leaves or enters here is mapped already (`addressMap`). */
export interface MasterSource {
  /**
   * One attempt: ask, connect, ROLE. No retry; the shard loops. Throws SentinelsUnreachableError, UnknownMasterError,
   * RoleMismatchError (also for "not yet": LOADING, MASTERDOWN, BUSY), MasterUnreachableError, or the signal's reason.
   */
  resolve(masterName: string, request: ResolveRequest): Promise<VerifiedMaster>
  /**
   * What is said now, without ROLE: to notice that an address in use is no longer the one. All names in one round trip
   * per sentinel. An entry is the error where there is no answer; the promise rejects on abort only.
   */
  lookup(masterNames: readonly string[], request: LookupRequest): Promise<Map<string, NamedMaster | Error>>
  /** Asks `candidate`, a node being promoted, for its role until it says master. Rejects on abort and when time is up. */
  followCandidate(masterName: string, candidate: Address, request: FollowRequest): Promise<VerifiedMaster>
  /**
   * Replicas that serve fresh data: not flagged down, link to the master up, ROLE says slave and connected. Only where to
   * connect; the caller does. Empty when there is none; rejects like `resolve` when nobody can be asked.
   */
  replicas(masterName: string, request: AttemptRequest): Promise<readonly Address[]>
  /** Leaves no socket and no timer. Idempotent. */
  close(): void
}
