import { InvalidOptionsError } from '../errors.js'
import { suggestion } from '../nearest.js'
import type { TypeMapping } from '../redis-client.js'
import type { CallOptions, ReadFrom, ReplicaAck, RetryPolicy } from '../shard/call.js'

/** What `withCommandOptions` takes: node-redis's command options that make sense here, and three of ours. */
export interface ViewOptions<TM extends TypeMapping = TypeMapping> {
  readonly typeMapping?: TM | undefined
  /** Ends the call at once. What has not been sent by then is not sent at all; what has been may have run. */
  readonly abortSignal?: AbortSignal | undefined
  /** Deadline of each call in ms, instead of the pool's `commandTimeoutMs`; 0 means none. The name node-redis uses. */
  readonly timeout?: number | undefined
  /** The same as `timeout`. */
  readonly timeoutMs?: number | undefined
  readonly retry?: RetryPolicy | undefined
  readonly readFrom?: ReadFrom | undefined
  readonly replicaAck?: ReplicaAck | undefined
  /** Taken for node-redis's sake; commands of one pool keep their order per shard. */
  readonly asap?: boolean | undefined
}

/** Of node-redis's command options those that mean nothing here: connections are shared, and commands keep their order. */
const OF_NO_MEANING = ['asap', 'chainId', 'slotNumber', 'askRedirect']

/** A call's own settings, each with what its value must be; undefined is always allowed. */
const CHECKS: Readonly<Record<keyof ViewOptions, (value: unknown, name: string) => void>> = {
  typeMapping: (value, name) => {
    if (typeof value !== 'object' || value === null) throw wrong(name, 'must be an object')
  },
  abortSignal: (value, name) => {
    if (typeof (value as AbortSignal | null)?.addEventListener !== 'function')
      throw wrong(name, 'must be an AbortSignal')
  },
  timeout: checkMs,
  timeoutMs: checkMs,
  retry: oneOf(['safe', 'never', 'always'] satisfies RetryPolicy[]),
  readFrom: oneOf(['master', 'preferReplica', 'replica'] satisfies ReadFrom[]),
  replicaAck: (value) => checkReplicaAck(value as ReplicaAck),
  asap: () => {},
}

const KNOWN = [...new Set([...Object.keys(CHECKS), ...OF_NO_MEANING])]

/** Bounded by what a timer takes. Shorter than the pool's own may be, since it has a timer of its own. */
function checkMs(value: unknown, name: string): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31) return
  throw wrong(name, `must be a whole number of milliseconds from 0 to ${2 ** 31 - 1}`)
}

function oneOf(choices: readonly string[]): (value: unknown, name: string) => void {
  const list = choices.map((choice) => `'${choice}'`).join(', ')
  return (value, name) => {
    if (choices.includes(value as string)) return
    throw wrong(name, `must be one of ${list}${typeof value === 'string' ? suggestion(value, choices) : ''}`)
  }
}

function wrong(name: string, what: string): InvalidOptionsError {
  return new InvalidOptionsError(name, `${name} ${what}`)
}

function check(changes: ViewOptions): void {
  if (typeof changes !== 'object' || changes === null) throw wrong('options', 'must be an object')
  for (const [name, value] of Object.entries(changes)) {
    if (!KNOWN.includes(name)) {
      throw new InvalidOptionsError(name, `there is no command option '${name}'${suggestion(name, KNOWN)}`)
    }
    if (value !== undefined) CHECKS[name as keyof ViewOptions]?.(value, name)
  }
}

/**
 * New settings over those of the view it is made from. `typeMapping` is always filled in, so that a call looks in one place.
 * @throws InvalidOptionsError that names the option, and the nearest one for a typo
 */
export function mergeOptions(
  base: CallOptions | undefined,
  poolTypeMapping: TypeMapping | undefined,
  changes: ViewOptions,
): CallOptions {
  check(changes)
  const { timeout, ...rest } = changes
  const { plain: _plain, ...kept } = base ?? {}
  const own = Object.entries(rest).filter(([name]) => !OF_NO_MEANING.includes(name))
  const merged: CallOptions = {
    typeMapping: poolTypeMapping,
    ...kept,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...Object.fromEntries(own),
  }
  const others = Object.entries(merged).filter(([name, value]) => name !== 'typeMapping' && value !== undefined)
  return others.length === 0 ? { typeMapping: merged.typeMapping, plain: true } : merged
}

/** @throws InvalidOptionsError */
export function checkReplicaAck(ack: ReplicaAck): ReplicaAck {
  for (const name of ['replicas', 'timeoutMs'] as const) {
    const value: unknown = ack?.[name]
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value < 2 ** 31) continue
    throw new InvalidOptionsError(`replicaAck.${name}`, `replicaAck.${name} must be a whole number of at least 1`)
  }
  return { replicas: ack.replicas, timeoutMs: ack.timeoutMs }
}
