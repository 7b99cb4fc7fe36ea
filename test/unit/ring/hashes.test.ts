import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 as zlibCrc32 } from 'node:zlib'
import fc from 'fast-check'
import murmur from 'murmurhash3js-revisited'
import { crc16, crc32 } from '../../../src/ring/hashes/crc.js'
import { fnv1a32 } from '../../../src/ring/hashes/fnv.js'
import { md5, md5Words } from '../../../src/ring/hashes/md5.js'
import { murmur3 } from '../../../src/ring/hashes/murmur3.js'
import { murmur3x128 } from '../../../src/ring/hashes/murmur3-128.js'
import { murmur64a } from '../../../src/ring/hashes/murmur64a.js'
import { add, multiply, multiplyHigh, rotate, wide } from '../../../src/ring/hashes/words.js'
import { xxh32, xxh64 } from '../../../src/ring/hashes/xxhash.js'
import { TWEMPROXY_HASHES } from '../../../src/ring/presets/twemproxy.js'
import { readVectors } from './support/vectors.js'

const hex = (word: number) => (word >>> 0).toString(16).padStart(8, '0')
const big = (high: number, low: number) => (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
const word = fc.integer({ min: 0, max: 0xffffffff })
const MASK = (1n << 64n) - 1n

test('every hash of twemproxy gives what its C code gives, whatever stands around the key', () => {
  const { columns, cases } = readVectors<{ columns: string[]; cases: string[][] }>('twemproxy-hashes')
  assert.deepEqual(columns.slice(1).sort(), Object.keys(TWEMPROXY_HASHES).sort())
  const names = columns.slice(1) as (keyof typeof TWEMPROXY_HASHES)[]
  for (const row of cases) {
    const key = Buffer.from(row[0]!, 'hex')
    const inside = Buffer.concat([Buffer.from([0xff, 1, 2]), key, Buffer.from([0xfe, 3])])
    names.forEach((name, column) => {
      assert.equal(hex(TWEMPROXY_HASHES[name](key, 0, key.length)), row[column + 1], name)
      assert.equal(hex(TWEMPROXY_HASHES[name](inside, 3, 3 + key.length)), row[column + 1], name)
    })
  }
})

test('MurmurHash3, MurmurHash64A and MD5 give what the reference code gives for every length to 300', () => {
  const { cases } = readVectors<{ cases: [number, number, ...(string | number)[]][] }>('murmur')
  for (const [n, pattern, ...values] of cases) {
    const byte = (i: number) => (pattern === 0 ? i * 7 + 3 : i * i * 31 + i * 17 + n * 13 + 5) & 255
    const bytes = Uint8Array.from({ length: n }, (_, i) => byte(i))
    const seeds = [0, 1, 0x9747b28c, 0xffffffff]
    assert.deepEqual(
      seeds.map((seed) => hex(murmur3(bytes, 0, n, seed))),
      values.slice(0, 4),
    )
    assert.equal(murmur3x128(bytes), values[4])
    const high = murmur64a(bytes, 0, n, 0x1234abcd)
    assert.equal(hex(high) + hex(wide.low), values[6])
    assert.equal(md5(bytes, 0, n) >>> 0, values[7])
  }
})

test('the 64-bit arithmetic agrees with BigInt', () => {
  fc.assert(
    fc.property(word, word, word, word, fc.integer({ min: 1, max: 31 }), (aHigh, aLow, bHigh, bLow, bits) => {
      const [a, b] = [big(aHigh, aLow), big(bHigh, bLow)]
      assert.equal(big(multiply(aHigh, aLow, bHigh, bLow), wide.low), (a * b) & MASK)
      assert.equal(big(add(aHigh, aLow, bHigh, bLow), wide.low), (a + b) & MASK)
      assert.equal(BigInt(multiplyHigh(aLow, bLow) >>> 0), (BigInt(aLow) * BigInt(bLow)) >> 32n)
      assert.equal(big(rotate(aHigh, aLow, bits), wide.low), ((a << BigInt(bits)) | (a >> BigInt(64 - bits))) & MASK)
    }),
    { numRuns: 2000 },
  )
})

test('md5 agrees with node:crypto, crc32 with zlib and crc16 with its check value', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 260 }), (bytes) => {
      md5(bytes, 0, bytes.length)
      const digest = createHash('md5').update(bytes).digest()
      assert.deepEqual(
        [...md5Words],
        [0, 4, 8, 12].map((i) => digest.readInt32LE(i)),
      )
      assert.equal(crc32(bytes, 0, bytes.length) >>> 0, zlibCrc32(bytes))
      assert.equal(murmur3(bytes, 0, bytes.length, 0) >>> 0, murmur.x86.hash32(bytes))
    }),
  )
  assert.equal(crc16(Buffer.from('123456789'), 0, 9), 0x31c3)
})

test('xxHash and FNV-1a give their published values', () => {
  const published: [string, string, string, string][] = [
    ['', 'ef46db3751d8e999', '02cc5d05', '811c9dc5'],
    ['a', 'd24ec4f1a98c6e5b', '550d7456', 'e40c292c'],
    ['abc', '44bc2cf5ad770999', '32d153ff', '1a47e90b'],
  ]
  for (const [text, x64, x32, fnv] of published) {
    const bytes = Buffer.from(text)
    const high = xxh64(bytes, 0, bytes.length)
    assert.equal(hex(high) + hex(wide.low), x64)
    assert.equal(hex(xxh32(bytes, 0, bytes.length)), x32)
    assert.equal(hex(fnv1a32(bytes, 0, bytes.length)), fnv)
  }
})
