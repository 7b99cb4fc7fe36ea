import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PointTable } from '../../../src/ring/points.js'

interface Point {
  readonly high: number
  readonly low: number
  readonly owner: number
}

/** Words that crowd: equal ones, neighbours, both ends, and clusters within one bucket. */
const word = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff),
  fc.integer({ min: 0x12340000, max: 0x12340040 }),
)
const points = fc.array(fc.record({ high: word, low: word, owner: fc.integer({ min: 0, max: 5 }) }), {
  minLength: 1,
  maxLength: 200,
})

const value = (high: number, low: number) => (BigInt(high) << 32n) | BigInt(low)

function table(list: readonly Point[], wide: boolean, rule?: 'nearest'): PointTable {
  return new PointTable(
    {
      high: Int32Array.from(list, (p) => p.high | 0),
      ...(wide ? { low: Int32Array.from(list, (p) => p.low | 0) } : {}),
      owners: Uint16Array.from(list, (p) => p.owner),
    },
    rule,
  )
}

/** The first point at or after the hash by the plainest search; of equal points the earlier in the list. */
function successor(list: readonly Point[], at: bigint, wide: boolean): number {
  const place = (p: Point) => value(p.high, wide ? p.low : 0)
  const sorted = list.slice().sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0))
  return (sorted.find((p) => place(p) >= at) ?? sorted[0]!).owner
}

test('a table of 32-bit points finds the first point at or after a hash, going round', () => {
  fc.assert(
    fc.property(points, fc.array(word, { minLength: 1 }), (list, hashes) => {
      const ring = table(list, false)
      for (const hash of [...hashes, ...list.map((p) => p.high), ...list.map((p) => (p.high + 1) >>> 0)]) {
        assert.equal(ring.find(hash | 0), successor(list, value(hash, 0), false))
      }
    }),
  )
})

test('a table of 64-bit points does so with both words', () => {
  fc.assert(
    fc.property(points, fc.array(fc.tuple(word, word)), (list, hashes) => {
      const ring = table(list, true)
      const exact = list.flatMap((p): [number, number][] => [
        [p.high, p.low],
        [p.high, (p.low + 1) >>> 0],
      ])
      for (const [high, low] of [...hashes, ...exact]) {
        assert.equal(ring.findWide(high | 0, low | 0), successor(list, value(high, low), true))
      }
    }),
  )
})

test('a table of nearest points finds the nearer one on the circle', () => {
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 100 }), fc.array(word), (words, hashes) => {
      const ring = table(
        words.map((high, owner) => ({ high, low: 0, owner })),
        false,
        'nearest',
      )
      const distance = (a: number, b: number) => Math.min((a - b) >>> 0, (b - a) >>> 0)
      for (const hash of [...hashes, ...words]) {
        const found = words[ring.find(hash | 0)]!
        const least = Math.min(...words.map((w) => distance(w, hash)))
        assert.ok(distance(found, hash) <= least, `${hash}: ${found}`)
      }
    }),
  )
})

test('a table keeps every point, sorted, and knows when two shards have one in common', () => {
  fc.assert(
    fc.property(points, (list) => {
      const ring = table(list, false)
      const seen: number[] = []
      ring.forEach((place) => {
        seen.push(place * 2 ** 32)
      })
      assert.deepEqual(
        seen,
        list.map((p) => p.high).sort((a, b) => a - b),
      )
      const contested = list.some((a) => list.some((b) => a.high === b.high && a.owner !== b.owner))
      assert.equal(ring.isContested(), contested)
    }),
  )
})

test('a table of points that all lie in one bucket still answers', () => {
  const list = Array.from({ length: 5000 }, (_, i) => ({ high: 0x7000 + ((i * 7919) % 5000), low: 0, owner: i % 7 }))
  const ring = table(list, false)
  for (let hash = 0x6ff0; hash < 0x7000 + 5010; hash++) {
    const expected = list.find((p) => p.high === hash) ?? list.find((p) => p.high === 0x7000)!
    assert.equal(ring.find(hash), expected.owner)
  }
})
