import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { test } from 'node:test'
import murmur from 'murmurhash3js-revisited'
import { createRing, type RingOptions } from '../../../src/ring/index.js'

/*
 * Guards with bounds far from what is promised, so that a busy machine does not fail them; bench/ring.bench.ts measures the
 * promises themselves (a quarter of the plain way, no allocation, 100 ms for 1,000 shards).
 */

const shards = Array.from({ length: 16 }, (_, i) => `cache-${i}`)
const keys = Array.from({ length: 20_000 }, (_, i) => `session:${String(i).padStart(12, '0')}`)

function best(run: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 7; round++) {
    const start = performance.now()
    run()
    least = Math.min(least, performance.now() - start)
  }
  return least
}

test('locate costs less than half of hashing with the reference over TextEncoder alone', () => {
  const ring = createRing({ shards })
  const encoder = new TextEncoder()
  let sink = 0
  const ours = best(() => {
    for (const key of keys) sink += ring.locate(key)
  })
  const plain = best(() => {
    for (const key of keys) sink += murmur.x86.hash32(encoder.encode(key))
  })
  assert.ok(sink > 0)
  assert.ok(ours < plain / 2, `${ours} ms of ${plain} ms`)
})

test('locate allocates nothing for any ring that hashes bytes by itself', () => {
  const rings: RingOptions[] = [
    { shards },
    { shards, preset: 'jedis' },
    { shards, preset: 'hashring' },
    { shards, preset: 'ketama' },
    { shards, preset: 'predis' },
    { shards, preset: 'go-redis', version: 9 },
    { shards, preset: 'phpredis' },
    { shards, preset: 'slots' },
  ]
  const mixed = keys.slice(0, 5000).map((key, i) => (i % 5 === 0 ? `{${key}}x` : i % 7 === 0 ? `ż${key}` : key))
  for (const options of rings) {
    const ring = createRing(options)
    let sink = 0
    // By index: an iterator makes an object for each key until the loop is optimized.
    const run = () => {
      for (let i = 0; i < mixed.length; i++) sink += ring.locate(mixed[i]!)
    }
    for (let round = 0; round < 30; round++) run()
    // A garbage collection in between would hide growth, so the least of several rounds is taken among those that grew.
    const grown: number[] = []
    for (let round = 0; round < 10; round++) {
      const before = process.memoryUsage().heapUsed
      run()
      grown.push(process.memoryUsage().heapUsed - before)
    }
    const perKey = Math.min(...grown.filter((bytes) => bytes >= 0)) / mixed.length
    assert.ok(sink > 0)
    assert.ok(perKey < 4, `${ring.preset}: ${perKey} bytes a key`)
  }
})

test('a ring of 1,000 shards is built within a blink', () => {
  const thousand = Array.from({ length: 1000 }, (_, i) => `cache-${i}`)
  const milliseconds = best(() => {
    createRing({ shards: thousand })
  })
  assert.ok(milliseconds < 500, `${milliseconds} ms`)
})
