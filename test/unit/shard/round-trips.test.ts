import assert from 'node:assert/strict'
import { it } from 'node:test'
import { RoundTrips } from '../../../src/shard/round-trips.js'

it('round trips: none is no figure', () => {
  assert.equal(new RoundTrips().stats(), undefined)
})

it('round trips: percentiles are of the nearest rank', () => {
  const trips = new RoundTrips()
  for (let ms = 100; ms >= 1; ms--) trips.add(ms)
  assert.deepEqual(trips.stats(), { samples: 100, p50Ms: 50, p99Ms: 99, maxMs: 100 })
})

it('round trips: one sample is every percentile', () => {
  const trips = new RoundTrips()
  trips.add(3)
  assert.deepEqual(trips.stats(), { samples: 1, p50Ms: 3, p99Ms: 3, maxMs: 3 })
})

it('round trips: only the last 256 count, all are counted', () => {
  const trips = new RoundTrips()
  trips.add(10_000)
  for (let i = 0; i < 256; i++) trips.add(1)
  assert.deepEqual(trips.stats(), { samples: 257, p50Ms: 1, p99Ms: 1, maxMs: 1 })
})
