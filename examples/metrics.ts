/** /metrics for Prometheus, /live and /ready for probes. The figures are read when they are asked for; commands pay nothing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { healthOf, ShardedSentinelPool, type ShardStats } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool(topology)
const registers = [new Registry()]

function gauge(name: string, help: string, read: (shard: ShardStats) => number): void {
  new Gauge({
    name: `redis_pool_${name}`,
    help,
    labelNames: ['shard'],
    registers,
    collect() {
      for (const shard of pool.stats().shards) this.set({ shard: shard.name }, read(shard))
    },
  })
}
gauge('shard_ready', '1 while the shard has a usable master', ({ state }) => (/ready|holding/.test(state) ? 1 : 0))
gauge('calls', 'Calls handed to the shard', ({ calls }) => calls)
gauge('errors', 'Calls that ended in an error of the library', ({ errors }) => errors)
gauge('in_flight', 'Calls that have not ended', ({ inFlight }) => inFlight)
gauge('waiting', 'Calls that wait for a master', ({ waiting }) => waiting)
gauge('leases', 'Exclusive connections in use', ({ leases }) => leases.borrowed)
gauge('round_trip_p99_seconds', '99th percentile of the last round trips', (s) => (s.roundTrip?.p99Ms ?? 0) / 1_000)

const sentinels = new Gauge({ name: 'redis_pool_sentinels_reachable', help: 'Sentinels that can be heard', registers })
const labelNames = ['shard', 'reason']
const failovers = new Counter({ name: 'redis_pool_failovers', help: 'By reason', labelNames, registers })
const duration = new Histogram({ name: 'redis_pool_failover_seconds', help: 'Until verified', labelNames, registers })
pool.on('failover', ({ shard, reason, durationMs }) => {
  failovers.inc({ shard, reason })
  duration.observe({ shard, reason }, durationMs / 1_000)
})
await pool.connect()

const server = createServer(async ({ url }, response) => {
  const health = healthOf(pool)
  if (url === '/live' || url === '/ready') {
    const good = url === '/live' ? health.live : health.ready
    return response.writeHead(good ? 200 : 503).end(JSON.stringify(health))
  }
  sentinels.set(health.sentinels.reachable)
  response.setHeader('Content-Type', registers[0]!.contentType).end(await registers[0]!.metrics())
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
})
process.once('SIGTERM', () => server.close(() => pool.close()))
