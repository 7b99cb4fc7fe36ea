/*
 * What the ring costs, against the plain way to do the same: murmurhash3js-revisited over TextEncoder, then a binary search.
 * Every figure of one line comes from one run, turn by turn, so that a noisy machine slows both down.
 *
 *   node bench/start.mjs ring.bench
 *
 * From the environment: KEYS (100000), ROUNDS (15), SHARDS (16).
 */
import { performance } from 'node:perf_hooks'
import murmur from 'murmurhash3js-revisited'
import { createRing, type Ring, type RingOptions } from '../dist/library/ring/index.js'

const KEYS = Number(process.env.KEYS ?? 100_000)
const ROUNDS = Number(process.env.ROUNDS ?? 15)
const SHARDS = Number(process.env.SHARDS ?? 16)

const shards = Array.from({ length: SHARDS }, (_, i) => `cache-${i}`)
const encoder = new TextEncoder()
let sink = 0

/** The plain way, with 160 points per shard as most rings have. */
function plainRing(): (key: string) => number {
  const points = shards.flatMap((name, owner) =>
    Array.from({ length: 160 }, (_, n) => ({ hash: murmur.x86.hash32(encoder.encode(`${name}-${n}`), 0), owner })),
  )
  points.sort((a, b) => a.hash - b.hash)
  const hashes = Uint32Array.from(points, (point) => point.hash)
  const owners = Uint16Array.from(points, (point) => point.owner)
  return (key) => {
    const hash = murmur.x86.hash32(encoder.encode(key), 0)
    let low = 0
    let high = hashes.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (hashes[middle]! < hash) low = middle + 1
      else high = middle
    }
    return owners[low === hashes.length ? 0 : low]!
  }
}

function nanosPerKey(locate: (key: string) => number, keys: readonly string[]): number {
  const start = performance.now()
  for (const key of keys) sink += locate(key)
  return ((performance.now() - start) * 1e6) / keys.length
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!
}

function compare(name: string, ring: Ring, keys: readonly string[], plain: (key: string) => number): void {
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(nanosPerKey((key) => ring.locate(key), keys))
    theirs.push(nanosPerKey(plain, keys))
  }
  const [a, b] = [median(ours), median(theirs)]
  console.log(
    `${name.padEnd(34)} ${a.toFixed(1).padStart(7)} ns  plain ${b.toFixed(1).padStart(7)} ns  ratio ${(a / b).toFixed(3)}`,
  )
}

const plain = plainRing()
const ascii = Array.from({ length: KEYS }, (_, i) => `session:${String(i * 7919).padStart(12, '0')}`)
const tagged = ascii.map((key) => `{${key.slice(2, 16)}}:ab`)
const unicode = ascii.map((key) => `ż${key.slice(2)}`)

console.log(`node ${process.version}, ${SHARDS} shards, ${KEYS} keys, median of ${ROUNDS} rounds`)
compare('murmur3, 20 ASCII characters', createRing({ shards }), ascii, plain)
compare('murmur3, with a hash tag', createRing({ shards }), tagged, plain)
compare('murmur3, with a letter past ASCII', createRing({ shards }), unicode, plain)

const others: readonly RingOptions[] = [
  { preset: 'jedis', shards },
  { preset: 'ketama', shards },
  { preset: 'hashring', shards },
  { preset: 'redis-rb', version: 5, shards },
  { preset: 'go-redis', version: 9, shards },
  { preset: 'slots', shards },
]
for (const options of others) {
  const ring = createRing(options)
  compare(`${ring.preset}, 20 ASCII characters`, ring, ascii, plain)
}

const thousand = Array.from({ length: 1000 }, (_, i) => `cache-${i}`)
const builds = Array.from({ length: 7 }, () => {
  const start = performance.now()
  createRing({ shards: thousand })
  return performance.now() - start
})
console.log(`build of 1,000 shards: first ${builds[0]!.toFixed(0)} ms, median ${median(builds).toFixed(0)} ms`)

for (const count of [4, 16, 64]) {
  const { shards: parts } = createRing({ shards: Array.from({ length: count }, (_, i) => `cache-${i}`) }).describe()
  const fullest = Math.max(...parts.map((part) => part.share ?? 0)) * count
  console.log(`${count} shards: the fullest has ${fullest.toFixed(4)} of the mean`)
}
if (sink < 0) throw new Error('unreachable: keeps the results of locate in use')
