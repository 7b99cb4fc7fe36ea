import { InvalidOptionsError } from '../errors.js'
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

/** New settings over those of the view it is made from. `typeMapping` is always filled in, so that a call looks in one place. */
export function mergeOptions(
  base: CallOptions | undefined,
  poolTypeMapping: TypeMapping | undefined,
  changes: ViewOptions,
): CallOptions {
  const { asap: _asap, timeout, ...rest } = changes
  const { plain: _plain, ...kept } = base ?? {}
  const merged: CallOptions = {
    typeMapping: poolTypeMapping,
    ...kept,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...rest,
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
