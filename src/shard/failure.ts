import type { RebuildReason } from '../events.js'
import { AbortError, ClientClosedError, ClientOfflineError, ErrorReply } from '../redis-client.js'

/**
 * What a failed call means (R10), decided from the error alone.
 *
 * - `'answered'`: the server executed it, or refused it for a reason that is the caller's: the error goes to the caller.
 * - `'moved'`: refused unexecuted, and the node is not (or no longer) a master that can serve: find the master, repeat.
 * - `'not-yet'`: refused unexecuted for a reason that passes by itself: wait a little, repeat.
 * - `'stale-login'`: refused unexecuted since the connection's login is no longer good: connect again, repeat.
 * - `'not-sent'`: no byte of it left.
 * - `'full'`: not sent, since the connection's queue is at its bound.
 * - `'lost'`: it was sent, or may have been, and no reply will come. Also what still stood in node-redis's queue when the
 *   connection ended, or in the socket's: node-redis rejects all of it in one error and does not tell what was written, and to
 *   know it from the bytes that left, each command would have to keep its place. A write that was not sent and is told as
 *   unknown is no harm; one that was sent and is sent again is.
 * - `'caller'`: the caller's own doing (an abort, an argument that cannot be encoded); nothing was sent.
 */
export type FailureKind = 'answered' | 'moved' | 'not-yet' | 'stale-login' | 'not-sent' | 'full' | 'lost' | 'caller'

const BY_REPLY: Readonly<Record<string, FailureKind>> = {
  READONLY: 'moved',
  MASTERDOWN: 'moved',
  UNBLOCKED: 'moved',
  LOADING: 'not-yet',
  NOREPLICAS: 'not-yet',
  TRYAGAIN: 'not-yet',
  BUSY: 'not-yet',
  NOAUTH: 'stale-login',
}

/**
 * Up to Redis 6 a write refused inside a script is told as the script's own error, with the server's words at the end. As
 * the server refuses every write then, nothing has been written, and it means what it means without a script.
 */
const REFUSED_IN_SCRIPT = /^ERR Error running script .*@user_script: ?\d+: -(READONLY|NOREPLICAS) /s

/** The first word of an error reply, such as `READONLY`; of a refusal inside a script, that of the refusal. */
export function replyCode(error: ErrorReply): string {
  const { message } = error
  const end = message.indexOf(' ')
  const code = end < 0 ? message : message.slice(0, end)
  return code === 'ERR' ? (REFUSED_IN_SCRIPT.exec(message)?.[1] ?? code) : code
}

/** Why a shard's master is looked for after a reply of kind `'moved'`. */
export function reasonOf(reply: ErrorReply): RebuildReason {
  return replyCode(reply) === 'MASTERDOWN' ? 'master-down-reply' : 'read-only-reply'
}

export function classifyFailure(error: unknown): FailureKind {
  if (error instanceof ErrorReply) {
    const code = replyCode(error)
    // CLIENT UNBLOCK is somebody's wish, not a change of the server's role.
    if (code === 'UNBLOCKED' && !error.message.includes('instance state')) return 'answered'
    return Object.hasOwn(BY_REPLY, code) ? BY_REPLY[code]! : 'answered'
  }
  if (error instanceof AbortError || error instanceof TypeError) return 'caller'
  if (!(error instanceof Error)) return 'caller'
  if (error.message === 'The queue is full') return 'full'
  // node-redis says these two before a command enters its queue.
  return error instanceof ClientClosedError || error instanceof ClientOfflineError ? 'not-sent' : 'lost'
}
