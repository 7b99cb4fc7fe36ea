import { type Address, formatAddress, sameAddress } from '../address.js'
import { Backoff } from '../async/backoff.js'
import { bounded, Deadline } from '../async/deadline.js'
import { sleep } from '../async/sleep.js'
import { MasterUnreachableError, RoleMismatchError } from '../errors.js'
import { type Connection, type ConnectionFactory, describeFailure } from '../redis-client.js'
import { type Role, readInfoReplication, readRole } from './replies.js'

/** What went wrong with the node that was named, told so that it can be acted on. */
function unreachable(masterName: string, address: Address, announced: Address, cause: unknown): MasterUnreachableError {
  const mapped = sameAddress(address, announced) ? '' : ` (announced as ${formatAddress(announced)})`
  const said = describeFailure(cause)
  const code = (cause as { code?: unknown } | undefined)?.code
  const why = typeof code === 'string' ? code : (/^[A-Z]{2,}\b/.exec(said)?.[0] ?? 'ECONNECT')
  const message = `${formatAddress(address)}${mapped}, named as master of '${masterName}', cannot be used: ${said}`
  return new MasterUnreachableError(masterName, address, why, message, { cause })
}

export interface ProofSettings {
  readonly masterName: string
  readonly factory: ConnectionFactory
  /** Where to connect. */
  readonly address: Address
  /** As the sentinel said it, where `addressMap` changed it. */
  readonly announced?: Address | undefined
  readonly connectionName: string | undefined
  /** Bound in ms on connecting and proving together. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface FollowSettings extends ProofSettings {
  /** Time between two questions, in ms. */
  readonly intervalMs: number
  /** Each answer. */
  readonly onRole?: ((role: Role['role'] | 'not-yet') => void) | undefined
  /** Asked when it says master: false when its word does not count yet. */
  readonly accepts?: (() => Promise<boolean>) | undefined
}

/** A node is not usable although it answers: `LOADING`, `MASTERDOWN` or `BUSY`. */
interface NotYet {
  readonly role: 'not-yet'
  readonly reply: string
}

/** Between two connections to a followed node that cuts each, at most, in ms. */
const CUT_PAUSE_MS = 250

const notYetWord = /^(LOADING|MASTERDOWN|BUSY)\b/

/**
 * Asks a node what it is. ROLE alone does not tell whether it serves (a node that still loads its data answers it), so a
 * PING goes along in the same round trip. Where the ACL denies ROLE, INFO replication is asked; where both, it throws the reply.
 */
export async function askRole(connection: Connection, timeoutMs: number, signal?: AbortSignal): Promise<Role | NotYet> {
  const late = () => Object.assign(new Error(`no answer to ROLE within ${timeoutMs} ms`), { code: 'ETIMEDOUT' })
  const asError = (error: unknown) => error as Error
  const [role, ping] = await bounded(
    Promise.all([connection.send(['ROLE']).catch(asError), connection.send(['PING']).catch(asError)]),
    { timeoutMs, signal, onTimeout: late },
  )
  if (connection.cause !== undefined) throw connection.cause
  for (const reply of [ping, role]) {
    const word = reply instanceof Error ? notYetWord.exec(reply.message)?.[1] : undefined
    if (word !== undefined) return { role: 'not-yet', reply: word }
  }
  if (!(role instanceof Error)) return readRole(role) ?? nonsense('ROLE')
  const info = await bounded(connection.send(['INFO', 'replication']).catch(asError), {
    timeoutMs,
    signal,
    onTimeout: late,
  })
  if (info instanceof Error) throw role
  return readInfoReplication(info) ?? nonsense('INFO replication')
}

function nonsense(command: string): never {
  throw new Error(`the answer to ${command} makes no sense`)
}

/**
 * Connects to `address` and resolves with the open connection once the node has proved to be a master. Else no socket is
 * left: RoleMismatchError when it says it is something else (or not yet: LOADING …), MasterUnreachableError when it cannot
 * be asked, the signal's reason when that aborts.
 */
export async function connectMaster(settings: ProofSettings): Promise<Connection> {
  const { masterName, address, signal } = settings
  const deadline = new Deadline(settings.timeoutMs)
  let connection: Connection | undefined
  try {
    connection = await openData(settings, deadline)
    const answer = await askRole(connection, deadline.remainingMs, signal)
    if (answer.role === 'master') return connection
    throw new RoleMismatchError(masterName, address, answer.role === 'not-yet' ? answer.reply : answer.role)
  } catch (error) {
    connection?.destroy()
    throw asTyped(error, settings)
  }
}

/**
 * Keeps asking a node that is being promoted what it is, every `intervalMs`, and resolves like `connectMaster` as soon as
 * it says master. Reconnects when the connection breaks. Rejects when the time is up, with what the node said last.
 */
export async function followUntilMaster(settings: FollowSettings): Promise<Connection> {
  const { masterName, address, signal, intervalMs } = settings
  const deadline = new Deadline(settings.timeoutMs)
  let last: Error | undefined
  let cuts = 0
  const backoff = new Backoff({ minMs: Math.max(intervalMs, 20), maxMs: CUT_PAUSE_MS })
  while (!deadline.expired) {
    let connection: Connection | undefined
    try {
      connection = await openData(settings, deadline)
      while (!deadline.expired) {
        const answer = await askRole(connection, Math.max(1, deadline.remainingMs), signal)
        settings.onRole?.(answer.role)
        if (answer.role === 'master' && ((await settings.accepts?.()) ?? true)) return connection
        last = new RoleMismatchError(masterName, address, answer.role === 'not-yet' ? answer.reply : answer.role)
        await sleep(Math.min(intervalMs, deadline.remainingMs), signal)
      }
      connection.destroy()
    } catch (error) {
      connection?.destroy()
      signal?.throwIfAborted()
      // The last question is cut short by the deadline: what the node said before it tells more.
      if (last === undefined || !deadline.expired) last = asTyped(error, settings)
      // Sentinel's promotion cuts all connections of the node, once: the one after it is what is waited for. A node that cuts
      // again and again is not besieged.
      if (connection !== undefined) cuts++
      const pauseMs = connection === undefined ? Math.max(intervalMs, 20) : cuts > 1 ? backoff.next() : 0
      await sleep(Math.min(pauseMs, deadline.remainingMs), signal)
    }
  }
  throw last ?? asTyped(Object.assign(new Error('no time left'), { code: 'ETIMEDOUT' }), settings)
}

function openData(settings: ProofSettings, deadline: Deadline): Promise<Connection> {
  return settings.factory.open(settings.address, {
    timeoutMs: Math.max(1, deadline.remainingMs),
    name: settings.connectionName,
    signal: settings.signal,
  })
}

function asTyped(error: unknown, settings: ProofSettings): Error {
  if (settings.signal?.aborted) return settings.signal.reason as Error
  if (error instanceof RoleMismatchError) return error
  return unreachable(settings.masterName, settings.address, settings.announced ?? settings.address, error)
}
