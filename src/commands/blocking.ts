import { ConnectionLostError, LeaseReleasedError, NotReplicatedError, PoolClosedError } from '../errors.js'
import { AbortError, ErrorReply, type RedisArgument } from '../redis-client.js'
import type { CallOptions, CommandProfile, LeasePort, ReplicaAck, ShardPort } from '../shard/call.js'
import { waitWithin } from '../shard/replica-wait.js'
import type { Router } from './router.js'
import type { Route } from './routes.js'

/** True when this call may wait on the server: a blocking command, XREAD and XREADGROUP only with BLOCK. */
export function mayBlock(route: Route, words: readonly RedisArgument[]): boolean {
  if ((route.kind !== 'keyed' && route.kind !== 'all') || !route.blocking) return false
  return isStreamRead(words) ? blockOption(words) !== undefined : true
}

/**
 * A blocking command on a connection of its own, so that it holds nobody up. Its wait is no time-out: the deadline is the
 * command's own wait plus the pool's, and none where it waits for ever; for the connection it waits no longer than any call
 * for its answer. A time-out that the caller gave for this call is kept as it is, from the call on, all waits included. A
 * failover ends it at once with LeaseReleasedError; it is never sent again by itself, for the element may be gone with it.
 */
export async function carryOnLease(
  router: Router,
  shard: ShardPort,
  words: readonly RedisArgument[],
  profile: CommandProfile,
  options: CallOptions | undefined,
): Promise<unknown> {
  const { abortSignal: signal } = options ?? {}
  // 0 is the caller's word for none.
  const timeoutMs = options?.timeoutMs || undefined
  const since = options?.since ?? performance.now()
  const restOf = (ms: number | undefined) => ms && Math.max(1, Math.ceil(ms - (performance.now() - since)))
  const acquireMs = options?.timeoutMs ?? router.context.commandTimeoutMs
  const lease = await shard.acquire({ timeoutMs: restOf(acquireMs) || undefined, signal }).catch((error: unknown) => {
    throw signal?.aborted === true && error === signal.reason ? new AbortError() : error
  })
  try {
    const leftMs = restOf(timeoutMs)
    if (profile.name.startsWith('WAIT')) await raiseReplicationOffset(lease, { timeoutMs: leftMs, abortSignal: signal })
    const reply = await lease.send(words, {
      ...options,
      typeMapping: router.typeMappingOf(options),
      timeoutMs: leftMs ?? deadlineOf(router, words, options),
    })
    const ack = options?.replicaAck
    if (ack !== undefined && !profile.readOnly && reply !== null) {
      const confirmMs = restOf(timeoutMs) ?? (router.context.commandTimeoutMs || undefined)
      await confirm(lease, profile, reply, ack, confirmMs ?? Number.POSITIVE_INFINITY, signal)
    }
    return reply
  } catch (error) {
    throw endOfWait(shard, error)
  } finally {
    // Also one that a failover has ended: its place in the pool is free only when it is given back.
    await lease.release()
  }
}

/**
 * WAIT counts replicas that have caught up with what its own connection wrote, and a lease has written nothing. A message
 * to a channel nobody hears goes to the replicas as a write does, so after it WAIT speaks for all writes before it.
 */
async function raiseReplicationOffset(lease: LeasePort, options: CallOptions): Promise<void> {
  await lease.send(['PUBLISH', '__sharded_sentinel_pool:wait', ''], options)
}

/** Something was taken: resolves once so many replicas know. @throws NotReplicatedError, AbortError */
async function confirm(
  lease: LeasePort,
  profile: CommandProfile,
  reply: unknown,
  { replicas, timeoutMs }: ReplicaAck,
  leftMs: number,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  // The server keeps the time; it may be frozen.
  const waitMs = waitWithin(timeoutMs, leftMs)
  const options = { timeoutMs: Math.min(waitMs + CONFIRM_GRACE_MS, leftMs), abortSignal }
  const failure = (count: number, cause?: unknown) =>
    new NotReplicatedError(lease.shard, profile.name, { replicas, timeoutMs }, count, reply, { cause })
  const count = await lease.send(['WAIT', String(replicas), String(waitMs)], options).catch((cause: unknown) => {
    throw cause instanceof AbortError ? cause : failure(0, cause)
  })
  if (Number(count) < replicas) throw failure(Number(count))
}

/** Longest for the way of the answer after a wait that is over, in ms. */
const CONFIRM_GRACE_MS = 250

/**
 * What ended a wait, in one error each: a failover as LeaseReleasedError; the pool's own end as PoolClosedError, in the very
 * sentence that node-redis has for it, since consumers that wait in a loop (BullMQ) stop in silence on that sentence only.
 */
function endOfWait(shard: ShardPort, error: unknown): unknown {
  // A master that is killed cuts the wait before anybody knows of the failover: for the caller it is the same end.
  if (error instanceof ConnectionLostError) {
    return new LeaseReleasedError(shard.name, 'failover', { cause: error, outcome: error.outcome })
  }
  if (isForcedUnblock(error)) return new LeaseReleasedError(shard.name, 'failover', { cause: error })
  if (error instanceof LeaseReleasedError && error.why === 'closed') {
    return new PoolClosedError('The client is closed', { cause: error, outcome: error.outcome })
  }
  return error
}

/** The server has become a replica under the waiting command, which has not run. */
function isForcedUnblock(error: unknown): boolean {
  return (
    error instanceof ErrorReply && error.message.startsWith('UNBLOCKED') && error.message.includes('instance state')
  )
}

/** Without a time-out of the caller's own. */
function deadlineOf(router: Router, words: readonly RedisArgument[], options: CallOptions | undefined): number {
  const own = options?.timeoutMs ?? router.context.commandTimeoutMs ?? 0
  const wait = waitMs(words)
  return wait === 0 || own === 0 ? 0 : Math.ceil(wait + own)
}

/** Where the wait stands, in seconds, for those that do not end with it. */
const WAIT_AT: ReadonlyMap<string, number> = new Map([
  ['BLMPOP', 1],
  ['BZMPOP', 1],
  ['BLMOVEM', 5],
])

/** How long the server may wait, in ms; 0 is for ever, and what an unreadable number counts as. */
export function waitMs(words: readonly RedisArgument[]): number {
  const name = String(words[0]).toUpperCase()
  if (isStreamRead(words)) return Number(blockOption(words) ?? 0) || 0
  if (name === 'WAIT' || name === 'WAITAOF') return Number(words.at(-1)) || 0
  const seconds = words.at(WAIT_AT.get(name) ?? -1)
  return (Number(seconds) || 0) * 1_000
}

function isStreamRead(words: readonly RedisArgument[]): boolean {
  const name = String(words[0]).toUpperCase()
  return name === 'XREAD' || name === 'XREADGROUP'
}

/** The word after BLOCK, which stands before STREAMS: behind it `BLOCK` would be a key. */
function blockOption(words: readonly RedisArgument[]): RedisArgument | undefined {
  for (let at = 1; at < words.length; at++) {
    const word = String(words[at]).toUpperCase()
    if (word === 'STREAMS') return undefined
    if (word === 'GROUP') at += 2
    else if (word === 'BLOCK') return words[at + 1]
    else if (word === 'COUNT') at += 1
  }
  return undefined
}
