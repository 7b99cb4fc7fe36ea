import { type Meter, SpanKind, type Tracer } from '@opentelemetry/api'
import type { FailoverEvent, ReconnectEvent } from '../events.js'

const SHARD = 'sharded_sentinel_pool.shard'
const REASON = 'sharded_sentinel_pool.reason'

/** Counts moves to another address and mere reconnects, with how long each took. */
export function countFailovers(meter: Meter) {
  const failovers = meter.createCounter('sharded_sentinel_pool.failovers', {
    unit: '{failover}',
    description: 'Shards that moved to another, verified master.',
  })
  const reconnects = meter.createCounter('sharded_sentinel_pool.reconnects', {
    unit: '{reconnect}',
    description: 'Shards whose connections were made anew at the same address.',
  })
  const duration = meter.createHistogram('sharded_sentinel_pool.failover.duration', {
    unit: 's',
    description: 'From the first sign of a failover to the verified new master.',
    advice: { explicitBucketBoundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] },
  })
  return {
    failover: ({ shard, reason, durationMs }: FailoverEvent): void => {
      failovers.add(1, { [SHARD]: shard, [REASON]: reason })
      duration.record(durationMs / 1_000, { [SHARD]: shard, [REASON]: reason })
    },
    reconnect: ({ shard, reason }: ReconnectEvent): void => {
      reconnects.add(1, { [SHARD]: shard, [REASON]: reason })
    },
  }
}

/** A span that lies where the failover was, once it is known that there was one. */
export function traceFailover(tracer: Tracer, event: FailoverEvent): void {
  const end = Date.now()
  const { shard, reason, generation, configEpoch, to, from, durationMs } = event
  const span = tracer.startSpan('failover', {
    kind: SpanKind.INTERNAL,
    startTime: end - durationMs,
    root: true,
    attributes: {
      'db.system.name': 'redis',
      'server.address': to.host,
      'server.port': to.port,
      [SHARD]: shard,
      [REASON]: reason,
      'sharded_sentinel_pool.generation': generation,
      ...(configEpoch === undefined ? {} : { 'sharded_sentinel_pool.config_epoch': configEpoch }),
      ...(from === undefined ? {} : { 'sharded_sentinel_pool.previous_address': `${from.host}:${from.port}` }),
    },
  })
  span.end(end)
}
