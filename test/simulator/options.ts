import type { PoolOptions } from '../../src/options.js'
import type { Random } from './random.js'
import type { World } from './world.js'

/**
 * Seeds from here on know more kinds of fault and more settings. Those below never do, so that a seed which once found
 * something still plays what it found.
 */
export const WIDE_FROM = 10_000
/**
 * From here on callers also write trains, many writes of one key whose order must hold, and sentinels are never two failovers
 * behind.
 */
export const TRAINS_FROM = 100_000
/** And from here on servers may hold back writes, and one failover does not follow another at once. */
export const PAUSES_FROM = 200_000

export function chooseOptions(random: Random, world: World, wide: boolean): PoolOptions {
  const commandTimeoutMs = random.pick([100, 200, 500, 1_000])
  const max = random.int(1, 4)
  const options = {
    masters: world.shards.map((shard) => shard.name),
    sentinels: world.sentinels.slice(0, random.int(1, 3)).map(({ address }) => address),
    pool: {
      min: random.int(0, Math.min(1, max)),
      max,
      acquireTimeoutMs: random.pick([100, 300, 1_000]),
      idleTimeoutMs: random.pick([200, 30_000]),
      maxWaiting: random.pick([3, 10_000]),
    },
    client: { RESP: random.pick([2, 3] as const) },
    sharedConnections: random.pick([1, 1, 2, 3]),
    commandTimeoutMs,
    sentinelTimeoutMs: random.pick([30, 100, 300]),
    connectTimeoutMs: random.pick([50, 200, 1_000]),
    pollIntervalMs: random.pick([200, 1_000, 10_000]),
    heartbeatMs: random.pick([100, 400, 5_000]),
    holdWritesMs: random.pick([0, 100, 500, 2_000]),
    connectDeadlineMs: random.pick([500, 5_000]),
    requireAllShards: random.chance(0.7),
    maxInFlight: random.pick([5, 100_000, 100_000]),
    retry: random.pick(['safe', 'safe', 'safe', 'never', 'always'] as const),
    readFrom: random.pick(['master', 'master', 'preferReplica', 'replica'] as const),
    placementGuard: 'off',
    leakWarningMs: random.pick([0, 200]),
  }
  // Checks that come many times in one failover, each naming the old master until it is announced.
  if (wide) options.pollIntervalMs = random.pick([100, 100, 200, 1_000, 10_000])
  return options as PoolOptions
}
