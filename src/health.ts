import type { Address } from './address.js'
import type { ShardState } from './events.js'
import type { PoolStats } from './stats.js'

/** What the answer is made of: any pool. */
export interface HealthSource {
  readonly isOpen: boolean
  /** Figures at this moment. */
  stats(): PoolStats
}

/** What makes an app ready. */
export interface HealthOptions {
  /**
   * How many shards must have a master for the app to be ready: all, or one at least, where the app can serve what the
   * others hold. @default 'all'
   */
  readonly require?: 'all' | 'any'
}

/** One shard in the answer of `healthOf`. */
export interface ShardHealth {
  readonly name: string
  /** It has a verified master that takes writes now, or will within moments (`holding`). */
  readonly ready: boolean
  readonly state: ShardState
  readonly address: Address | undefined
  /** Calls that wait for a master. */
  readonly waiting: number
}

/** How a pool is: the answer of `healthOf`. */
export interface Health {
  /**
   * The pool is open or on its way. A failover does not make it false: restarting the app would not help the shard. For the
   * liveness probe.
   */
  readonly live: boolean
  /** Enough shards have a verified master. For the readiness probe. */
  readonly ready: boolean
  readonly shards: readonly ShardHealth[]
  /** How many sentinels can be heard; none is no reason to stop serving, but one to wake somebody. */
  readonly sentinels: { readonly reachable: number; readonly known: number }
}

/**
 * How a pool is, for an HTTP probe: plain data, no I/O.
 *
 * @example
 * app.get('/ready', (_, response) => {
 *   const health = healthOf(pool)
 *   response.status(health.ready ? 200 : 503).json(health)
 * })
 */
export function healthOf(pool: HealthSource, options: HealthOptions = {}): Health {
  const { shards, sentinels } = pool.stats()
  const each = shards.map(({ name, state, address, waiting }): ShardHealth => {
    return { name, state, address, waiting, ready: address !== undefined && (state === 'ready' || state === 'holding') }
  })
  const up = each.filter((shard) => shard.ready).length
  const enough = options.require === 'any' ? up > 0 : up > 0 && up === each.length
  return {
    live: pool.isOpen,
    ready: pool.isOpen && enough,
    shards: each,
    sentinels: { reachable: sentinels.filter((one) => one.subscribed).length, known: sentinels.length },
  }
}
