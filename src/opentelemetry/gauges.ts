import type { BatchObservableCallback, Meter } from '@opentelemetry/api'
import type { PoolStats } from '../stats.js'

/** What `stats()` tells, read whenever metrics are collected. Returns what ends it. */
export function observeStats(meter: Meter, pool: { stats(): PoolStats }, poolName: string): () => void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableUpDownCounter(name, { unit, description })
  const connections = gauge(
    'db.client.connection.count',
    '{connection}',
    'The number of exclusive connections that are currently in the state described by the state attribute.',
  )
  const pending = gauge(
    'db.client.connection.pending_requests',
    '{request}',
    'The number of current pending requests for an open connection.',
  )
  const sockets = gauge('sharded_sentinel_pool.sockets', '{socket}', 'Open sockets to data nodes.')
  const inFlight = gauge('sharded_sentinel_pool.calls.in_flight', '{call}', 'Calls that have not ended yet.')
  const waiting = gauge('sharded_sentinel_pool.calls.waiting', '{call}', 'Calls that wait for a master.')
  const ready = gauge('sharded_sentinel_pool.shard.ready', '1', '1 while the shard has a usable master, else 0.')
  const sentinels = gauge('sharded_sentinel_pool.sentinels.reachable', '{sentinel}', 'Sentinels that can be heard.')
  const roundTrip = meter.createObservableGauge('sharded_sentinel_pool.round_trip.p99', {
    unit: 's',
    description: '99th percentile of the last round trips to the master.',
  })
  const all = [connections, pending, sockets, inFlight, waiting, ready, sentinels, roundTrip]
  const observe: BatchObservableCallback = (result) => {
    const stats = pool.stats()
    result.observe(sentinels, stats.sentinels.filter((one) => one.subscribed).length)
    for (const shard of stats.shards) {
      const of = { 'sharded_sentinel_pool.shard': shard.name }
      const lease = { 'db.client.connection.pool.name': `${poolName}:${shard.name}` }
      result.observe(connections, shard.leases.idle, { ...lease, 'db.client.connection.state': 'idle' })
      result.observe(connections, shard.leases.borrowed, { ...lease, 'db.client.connection.state': 'used' })
      result.observe(pending, shard.leases.pending, lease)
      result.observe(sockets, shard.sockets, of)
      result.observe(inFlight, shard.inFlight, of)
      result.observe(waiting, shard.waiting, of)
      result.observe(ready, shard.state === 'ready' || shard.state === 'holding' ? 1 : 0, of)
      if (shard.roundTrip !== undefined) result.observe(roundTrip, shard.roundTrip.p99Ms / 1_000, of)
    }
  }
  meter.addBatchObservableCallback(observe, all)
  return () => meter.removeBatchObservableCallback(observe, all)
}
