/**
 * `sharded-sentinel-pool/opentelemetry`: metrics and spans of a pool, by OpenTelemetry's conventions for database clients.
 * Needs the optional peer `@opentelemetry/api`; whoever does not import this entry does not load it, and pays nothing.
 */
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { ROUTER, type Routed } from '../commands/methods.js'
import type { FailoverEvent, ReconnectEvent } from '../events.js'
import type { PoolStats } from '../stats.js'
import { countFailovers, traceFailover } from './failovers.js'
import { observeStats } from './gauges.js'
import { Operations } from './operations.js'
import { type TracedShard, traceShard } from './traced-shard.js'

/** What is needed of a pool; every ShardedSentinelPool is one. */
export interface InstrumentedPool {
  stats(): PoolStats
  on(event: 'connect', listener: () => void): unknown
  on(event: 'failover', listener: (event: FailoverEvent) => void): unknown
  on(event: 'reconnect', listener: (event: ReconnectEvent) => void): unknown
  off(event: 'connect', listener: () => void): unknown
  off(event: 'failover', listener: (event: FailoverEvent) => void): unknown
  off(event: 'reconnect', listener: (event: ReconnectEvent) => void): unknown
}

/** What `instrument` takes besides the pool. */
export interface InstrumentOptions {
  /** @default the global one */
  readonly meterProvider?: MeterProvider
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
  /** A span for every command, besides the metrics. @default true */
  readonly spans?: boolean
  /** What `client.database` of the pool is, for `db.namespace`. @default 0 */
  readonly database?: number
  /** Name of the pool in `db.client.connection.pool.name`. @default 'sharded-sentinel-pool' */
  readonly poolName?: string
}

/** A pool's measuring, to be ended. */
export interface Instrumentation {
  /** Takes everything off again. Idempotent. */
  disable(): void
}

const SCOPE = 'sharded-sentinel-pool'

/**
 * Measures a pool from now on, over all its connected lives: a span and a duration per command (`db.client.operation.duration`),
 * connections in use and waited for, failovers and how long they took. Keys and values never leave the process. May be
 * called before `connect()`.
 *
 * @example
 * import { instrument } from 'sharded-sentinel-pool/opentelemetry'
 * const instrumentation = instrument(pool)
 */
export function instrument(pool: InstrumentedPool, options: InstrumentOptions = {}): Instrumentation {
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE)
  const meter = (options.meterProvider ?? metrics).getMeter(SCOPE)
  const router = (pool as unknown as Routed)[ROUTER]
  const operations = new Operations({
    meter,
    tracer: options.spans === false ? undefined : tracer,
    database: options.database ?? 0,
    poolName: options.poolName ?? SCOPE,
  })
  const undo = new Map<object, () => void>()
  const traceShards = () => {
    for (const [shard, off] of undo) if (!router.shards.includes(shard as TracedShard)) off()
    for (const shard of router.shards as readonly TracedShard[]) {
      if (undo.has(shard)) continue
      const off = traceShard(shard, operations)
      undo.set(shard, () => {
        off()
        undo.delete(shard)
      })
    }
  }
  const count = countFailovers(meter)
  const onFailover = (event: FailoverEvent) => {
    count.failover(event)
    if (options.spans !== false) traceFailover(tracer, event)
  }
  // Each connected life has shards of its own; `connect` is emitted when they are there and before they are used.
  pool.on('connect', traceShards)
  pool.on('failover', onFailover)
  pool.on('reconnect', count.reconnect)
  const stopObserving = observeStats(meter, pool, options.poolName ?? SCOPE)
  traceShards()
  return {
    disable() {
      pool.off('connect', traceShards)
      pool.off('failover', onFailover)
      pool.off('reconnect', count.reconnect)
      stopObserving()
      for (const off of [...undo.values()]) off()
    },
  }
}
