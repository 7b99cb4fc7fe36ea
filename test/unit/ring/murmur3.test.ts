import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import murmur from 'murmurhash3js-revisited'
import { murmur3, murmur3Series } from '../../../src/ring/hashes/murmur3.js'
import { createRing, type Ring, type ShardInput } from '../../../src/ring/index.js'
import { POINTS } from '../../../src/ring/presets/murmur3.js'
import { keys } from './support/vectors.js'

const encoder = new TextEncoder()
const reference = (bytes: Uint8Array, seed = 0) => murmur.x86.hash32(bytes, seed)

/** The default ring as its words say, by the plainest code: the nearest point on the circle of 2^32. */
function plainRing(labels: readonly string[]): (key: Uint8Array) => number {
  const points = labels
    .flatMap((label, owner) =>
      Array.from({ length: POINTS }, (_, n) => ({ hash: reference(encoder.encode(`${label}-${n}`)), label, owner })),
    )
    .sort((a, b) => a.hash - b.hash || (a.label < b.label ? -1 : 1))
  const borders = points.map((point, i) => {
    const next = points[i + 1]?.hash ?? points[0]!.hash + 2 ** 32
    return { border: Math.floor((point.hash + next) / 2), owner: point.owner }
  })
  return (key) => {
    const text = Buffer.from(key).toString('latin1')
    const tag = /^[^{]*\{([^}]+)\}/.exec(text)?.[1] ?? text
    const hash = reference(Buffer.from(tag, 'latin1'))
    const last = borders.at(-1)!
    // The last border may lie past 2^32, and then a hash before the first border may belong to the last point.
    if (hash + 2 ** 32 <= last.border) return last.owner
    return (borders.find(({ border }) => hash <= border) ?? { owner: points[0]!.owner }).owner
  }
}

const letters = (count: number) => Array.from({ length: count }, (_, i) => `cache-${String.fromCharCode(97 + i)}`)
const anyKey = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  // Lone surrogates, which `binary` leaves out.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.array(fc.constantFrom('{', '}', 'a', 'é', '\0', '😀', '\ud800'), { maxLength: 12 }).map((parts) => parts.join('')),
)

test('murmur3: every length from 0 to 300 hashes as the reference does, within a longer array too', () => {
  const bytes = Uint8Array.from({ length: 320 }, (_, i) => (i * i * 31 + i * 17 + 5) & 255)
  for (let length = 0; length <= 300; length++) {
    for (const start of [0, 3]) {
      const expected = reference(bytes.slice(start, start + length), 0x9747b28c)
      assert.equal(murmur3(bytes, start, start + length, 0x9747b28c) >>> 0, expected)
    }
  }
})

test('murmur3: any bytes and any seed hash as the reference does', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 0xffffffff }), (bytes, seed) => {
      assert.equal(murmur3(bytes, 0, bytes.length, seed) >>> 0, reference(bytes, seed))
    }),
  )
})

test('murmur3: a series of numbered texts hashes as each text alone, over every change of digits', () => {
  for (const prefix of ['', 'a', 'ab', 'abc', 'abcd', 'cache-a-', 'główny-']) {
    const out = new Int32Array(1105)
    murmur3Series(encoder.encode(prefix), 1100, 7, out, 5)
    for (let n = 0; n < 1100; n++) assert.equal(out[n + 5]! >>> 0, reference(encoder.encode(prefix + n), 7))
  }
})

test('murmur3: any string and its bytes are on the shard that the words of the preset say', () => {
  const shards = letters(5)
  const ring = createRing({ shards })
  const plain = plainRing(shards)
  const check = (key: string) => {
    const bytes = encoder.encode(key)
    const expected = plain(bytes)
    assert.equal(ring.locate(key), expected)
    assert.equal(ring.locate(bytes), expected)
    assert.equal(ring.locate(Buffer.from(key)), expected)
  }
  for (const key of [...keys.text, ...keys.lone]) check(key)
  for (const key of keys.binary) assert.equal(ring.locate(key), plain(key))
  fc.assert(fc.property(anyKey, check), { numRuns: 500 })
})

test('murmur3: a key hashes the same wherever its brace or its first letter past ASCII stands', () => {
  const ring = createRing({ shards: letters(16) })
  const plain = plainRing(letters(16))
  for (let length = 1; length <= 13; length++) {
    for (let at = 0; at < length; at++) {
      for (const odd of ['{', '}', 'é', '\x7f', '\x80', '{x}', '\ud800']) {
        const key = `${'z'.repeat(at)}${odd}${'y'.repeat(length - at - 1)}`
        assert.equal(ring.locate(key), plain(encoder.encode(key)), JSON.stringify(key))
      }
    }
  }
})

test('murmur3: a key of many megabytes is placed, and its scratch is not kept', () => {
  const ring = createRing({ shards: letters(4) })
  const huge = 'é'.repeat(3_000_000)
  assert.equal(ring.locate(huge), ring.locate(encoder.encode(huge)))
})

test('murmur3: keys with one hash tag share a shard, an empty tag is no tag', () => {
  const ring = createRing({ shards: letters(16) })
  const home = ring.locate('user:1')
  for (const key of ['{user:1}', 'a{user:1}b', '{user:1}{other}', 'x{user:1}}']) assert.equal(ring.locate(key), home)
  assert.equal(ring.locate('{}user:1'), ring.locate(encoder.encode('{}user:1')))
})

test('murmur3: the order of the list moves no key', () => {
  const shuffled = fc.shuffledSubarray(letters(9), { minLength: 9 })
  const straight = createRing({ shards: letters(9) })
  fc.assert(
    fc.property(shuffled, (order) => {
      const ring = createRing({ shards: order })
      assert.equal(ring.describe().fingerprint, straight.describe().fingerprint)
      for (let i = 0; i < 200; i++) assert.equal(nameOf(ring, `k${i}`), nameOf(straight, `k${i}`))
    }),
    { numRuns: 30 },
  )
})

test('murmur3: a label keeps the keys in their place when the name changes', () => {
  const before = createRing({ shards: letters(3) })
  const after = createRing({ shards: letters(3).map((label, i) => ({ name: `new-${i}`, label })) })
  assert.equal(before.describe().fingerprint, after.describe().fingerprint)
  for (let i = 0; i < 1000; i++) assert.equal(before.locate(`k${i}`), after.locate(`k${i}`))
})

const KINDS: Readonly<Record<string, (i: number) => string>> = {
  realistic: (i) => `user:${(i * 2654435761) % 4294967296}:profile`,
  sequential: (i) => `key:${i}`,
  'one-letter-suffix': (i) => `session:${Math.floor(i / 26)}:${String.fromCharCode(97 + (i % 26))}`,
}

for (const [kind, key] of Object.entries(KINDS)) {
  for (const count of [4, 16]) {
    test(`murmur3: the fullest of ${count} shards has at most 1.10 of the mean of 100,000 ${kind} keys`, () => {
      for (const name of ['cache-', 'shard', '10.0.0.']) {
        const ring = createRing({ shards: Array.from({ length: count }, (_, i) => `${name}${i}`) })
        const held = new Array<number>(count).fill(0)
        for (let i = 0; i < 100_000; i++) held[ring.locate(key(i))]!++
        const ratio = (Math.max(...held) * count) / 100_000
        assert.ok(ratio <= 1.1, `${name}: ${ratio}`)
      }
    })
  }
}

test('murmur3: another shard takes at most 1.15/(n+1) of the keys, and keys move to it alone', () => {
  const label = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '')
  fc.assert(
    fc.property(fc.uniqueArray(label, { minLength: 2, maxLength: 17 }), (labels) => {
      const before = createRing({ shards: labels.slice(0, -1) })
      const after = createRing({ shards: labels })
      const added = labels.length - 1
      let moved = 0
      const total = 4000
      for (let i = 0; i < total; i++) {
        const [a, b] = [before.locate(`k:${i}`), after.locate(`k:${i}`)]
        if (a === b) continue
        assert.equal(b, added)
        moved++
      }
      // The share itself is bounded as promised; 4,000 keys only see it through their own noise.
      const share = after.describe().shards[added]!.share!
      assert.ok(share <= 1.15 / labels.length, `${share} of ${labels.length} shards`)
      const noise = 5 * Math.sqrt((share * (1 - share)) / total)
      assert.ok(Math.abs(moved / total - share) <= noise)
    }),
    { numRuns: 60 },
  )
})

test('murmur3: weights are shares, a weight of 0 is no keys', () => {
  const weights = [0, 1, 2.5, 0.5]
  const shards: ShardInput[] = weights.map((weight, i) => ({ name: `s${i}`, weight }))
  const { shards: parts } = createRing({ shards }).describe()
  parts.forEach((part, i) => {
    assert.ok(Math.abs(part.share! - weights[i]! / 4) < 0.03, `${part.share}`)
  })
  assert.equal(parts[0]!.points, 0)
})

interface Golden {
  /** Keys as hex. */
  readonly keys: readonly string[]
  readonly rings: readonly {
    readonly shards: readonly (string | { name: string; weight?: number; label?: string })[]
    readonly fingerprint: string
    /** Index of the shard of every key, one digit of base 36 each. */
    readonly answers: string
  }[]
}

test('murmur3: no key of the golden file has moved; if this fails, users lose their data', () => {
  const file = new URL('../../fixtures/murmur3-golden.json', import.meta.url)
  const golden = JSON.parse(readFileSync(file, 'utf8')) as Golden
  assert.ok(golden.rings.length >= 5 && golden.keys.length >= 900)
  for (const { shards, fingerprint, answers } of golden.rings) {
    const ring = createRing({ shards })
    assert.equal(ring.describe().fingerprint, fingerprint)
    assert.equal(answers.length, golden.keys.length)
    golden.keys.forEach((hex, i) => {
      const bytes = Buffer.from(hex, 'hex')
      const expected = Number.parseInt(answers[i]!, 36)
      assert.equal(ring.locate(bytes), expected, hex)
      const text = bytes.toString()
      if (Buffer.from(text).equals(bytes)) assert.equal(ring.locate(text), expected, hex)
    })
  }
})

function nameOf(ring: Ring, key: string): string {
  return ring.shards[ring.locate(key)]!.name
}
