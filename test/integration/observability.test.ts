import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, before, describe, it } from 'node:test'
import { SpanStatusCode } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { CHANNELS, type ChannelMessage, healthOf } from '../../src/index.js'
import { instrument } from '../../src/opentelemetry/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolClients, poolOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

/** OpenTelemetry's own SDK, keeping what it is told. */
function telemetry() {
  const spans = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const points = async (name: string) => {
    exporter.reset()
    await reader.forceFlush()
    const metrics = exporter.getMetrics().flatMap((one) => one.scopeMetrics.flatMap((scope) => scope.metrics))
    return metrics.find((metric) => metric.descriptor.name === name)?.dataPoints ?? []
  }
  return { spans, points, options: { tracerProvider, meterProvider }, stop: () => meterProvider.shutdown() }
}

describe('seeing a pool', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
  })
  after(() => topology.close())

  it('every connection of a pool is named after pool, shard and role', async () => {
    await using pool = poolOn(topology, { name: 'shop', readFrom: 'preferReplica' })
    await pool.connect()
    await pool.get('x')
    await pool.get(keyOf(pool, 'cache-a'))
    // A look for replicas, which asks the master too how far it is, may be under way at any time.
    const names = async (at: number) => {
      const clients = await poolClients(topology.shard('cache-a').nodes[at]!, 'shop')
      return [...new Set(clients.map(({ name }) => name))].filter((name) => name !== 'shop:cache-a:probe').sort()
    }
    await until('the lease connection', async () => (await names(0)).length === 2)
    assert.deepEqual(await names(0), ['shop:cache-a:lease', 'shop:cache-a:shared'])
    assert.deepEqual(await names(1), ['shop:cache-a:replica'])
    const atSentinel = await poolClients(topology.sentinelNodes[0]!, 'shop')
    assert.deepEqual([...new Set(atSentinel.map(({ name }) => name))].sort(), ['shop:sentinel', 'shop:watch'])
  })

  it('round trips are measured by the fences that follow the traffic', async () => {
    await using pool = poolOn(topology)
    await pool.connect()
    const key = keyOf(pool, 'cache-a')
    const figures = () => pool.shards[0]!.stats.roundTrip
    assert.equal(figures(), undefined)
    await until('four round trips under traffic', async () => {
      await pool.get(key)
      return (figures()?.samples ?? 0) >= 4
    })
    const { p50Ms, p99Ms, maxMs } = figures()!
    assert.ok(p50Ms > 0 && p50Ms <= p99Ms && p99Ms <= maxMs && maxMs < 1_000, JSON.stringify(figures()))
  })

  it('commands become spans and durations by the conventions, with the shard, and without keys or values', async () => {
    const { spans, points, options, stop } = telemetry()
    await using pool = poolOn(topology, { client: { database: 2 } })
    const instrumentation = instrument(pool, { ...options, database: 2 })
    await pool.connect()
    spans.reset()
    const key = keyOf(pool, 'cache-b', 'secret')
    await pool.set(key, 'value')
    await assert.rejects(pool.incr(key), /not an integer/)
    await pool.multi().get(key).get(key).exec()
    const [set, incr, multi] = spans.getFinishedSpans()
    const master = topology.shard('cache-b').nodes[0]!
    assert.equal(set!.name, 'SET')
    assert.deepEqual(set!.attributes, {
      'db.system.name': 'redis',
      'db.namespace': '2',
      'db.operation.name': 'SET',
      'sharded_sentinel_pool.shard': 'cache-b',
      'server.address': master.host,
      'server.port': master.port,
    })
    assert.equal(incr!.status.code, SpanStatusCode.ERROR)
    assert.equal(incr!.attributes['db.response.status_code'], 'ERR')
    assert.equal(multi!.attributes['db.operation.batch.size'], 4)
    assert.ok(
      !JSON.stringify(spans.getFinishedSpans().map(({ attributes, name }) => [name, attributes])).includes('secret'),
    )

    const durations = await points('db.client.operation.duration')
    const ofSet = durations.find((point) => point.attributes['db.operation.name'] === 'SET')!
    assert.equal((ofSet.value as Histogram).count, 1)
    const ready = await points('sharded_sentinel_pool.shard.ready')
    assert.deepEqual(
      ready.map(({ attributes, value }) => [attributes['sharded_sentinel_pool.shard'], value]),
      [
        ['cache-a', 1],
        ['cache-b', 1],
      ],
    )
    await pool.use(key, async () => {
      const used = (await points('db.client.connection.count')).filter(
        (point) => point.attributes['db.client.connection.state'] === 'used',
      )
      assert.deepEqual(
        used.map(({ value }) => value),
        [0, 1],
      )
    })

    instrumentation.disable()
    instrumentation.disable()
    spans.reset()
    await pool.get(key)
    assert.deepEqual(spans.getFinishedSpans(), [])
    // After a reconnect as well.
    await pool.close()
    await pool.connect()
    await pool.get(key)
    assert.deepEqual(spans.getFinishedSpans(), [])
    await stop()
  })

  it('the shards of a pool that was connected anew are measured too', async () => {
    const { spans, options, stop } = telemetry()
    await using pool = poolOn(topology)
    await pool.connect()
    const instrumentation = instrument(pool, options)
    await pool.close()
    await pool.connect()
    spans.reset()
    await pool.get('x')
    assert.deepEqual(
      spans.getFinishedSpans().map(({ name }) => name),
      ['GET'],
    )
    instrumentation.disable()
    await stop()
  })

  it('a failover is seen by channel subscribers, as a metric, as a span, and as not ready meanwhile', async () => {
    const { spans, points, options, stop } = telemetry()
    await using pool = poolOn(topology, { name: 'shop' })
    const instrumentation = instrument(pool, options)
    await pool.connect()
    const heard: ChannelMessage<'failover'>[] = []
    const listener = (message: unknown) => heard.push(message as ChannelMessage<'failover'>)
    subscribe(CHANNELS.failover, listener)
    const unready: boolean[] = []
    pool.on('shard-down', () => unready.push(healthOf(pool).ready))
    const moved = nextEvent(pool, 'failover')
    await topology.killMaster('cache-b')
    const event = await moved
    unsubscribe(CHANNELS.failover, listener)
    assert.deepEqual(heard, [{ pool, name: 'shop', event }])
    assert.deepEqual(unready, [false])
    assert.equal(healthOf(pool).ready, true)
    const [count] = await points('sharded_sentinel_pool.failovers')
    assert.deepEqual([count!.value, count!.attributes['sharded_sentinel_pool.shard']], [1, 'cache-b'])
    const span = spans.getFinishedSpans().find(({ name }) => name === 'failover')!
    assert.equal(span.attributes['sharded_sentinel_pool.reason'], event.reason)
    assert.equal(span.attributes['server.port'], event.to.port)
    instrumentation.disable()
    await stop()
  })
})
