import { type PoolOptions, ShardedSentinelPool } from '../index.js'

/** A pool of whatever options the command line gave. */
export type CommandPool = ReturnType<typeof makePool>

export function makePool(options: PoolOptions) {
  return new ShardedSentinelPool(options)
}
