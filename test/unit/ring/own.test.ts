import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { InvalidOptionsError } from '../../../src/errors.js'
import { createRing, type RingOptions } from '../../../src/ring/index.js'

const shards = ['a', 'b', 'c']

test('a ring of your own takes the first point at or after the hash of the key', () => {
  const ring = createRing({ shards, hash: crc32, pointsPerShard: 7, label: (shard, n) => `${n}/${shard.name}` })
  assert.equal(ring.preset, 'own')
  const points = shards
    .flatMap((name, owner) => Array.from({ length: 7 }, (_, n) => ({ hash: crc32(`${n}/${name}`), owner })))
    .sort((x, y) => x.hash - y.hash)
  for (let i = 0; i < 500; i++) {
    const hash = crc32(`{t}key ${i} ż`)
    const expected = points.find((point) => point.hash >= hash) ?? points[0]!
    assert.equal(ring.locate(`{t}key ${i} ż`), expected.owner)
  }
  assert.deepEqual(
    ring.describe().shards.map((shard) => shard.points),
    [7, 7, 7],
  )
})

test('a ring of your own has hash tags only when asked, and signed hashes are as good as unsigned ones', () => {
  const plain = createRing({ shards, hash: crc32 })
  const tagged = createRing({ shards, hash: crc32, hashTags: true })
  const signed = createRing({ shards, hash: (bytes) => crc32(bytes) | 0, hashTags: true })
  let differ = 0
  for (let i = 0; i < 300; i++) {
    if (plain.locate(`{x}${i}`) !== plain.locate('x')) differ++
    assert.equal(tagged.locate(`{x}${i}`), plain.locate('x'))
    assert.equal(signed.locate(`y${i}`), plain.locate(`y${i}`))
  }
  assert.ok(differ > 100)
})

test('the hash of your own ring gets bytes that it may keep', () => {
  const kept: Uint8Array[] = []
  const ring = createRing({
    shards,
    hash: (bytes) => {
      kept.push(bytes)
      return crc32(bytes)
    },
  })
  kept.length = 0
  ring.locate('first')
  ring.locate('second')
  assert.deepEqual(
    kept.map((bytes) => Buffer.from(bytes).toString()),
    ['first', 'second'],
  )
})

test('what a hash of your own returns is checked, at once and for every key', () => {
  for (const bad of [Number.NaN, 1.5, 2 ** 32, -(2 ** 31) - 1, '7', undefined, 7n]) {
    const hash = (() => bad) as unknown as (bytes: Uint8Array) => number
    assert.throws(() => createRing({ shards, hash }), refusal('ring.hash'))
  }
  const late = createRing({ shards, hash: (bytes) => (bytes[0] === 0x21 ? Number.NaN : crc32(bytes)) })
  assert.throws(() => late.locate('!'), refusal('ring.hash'))
  const label = (() => 7) as unknown as () => string
  assert.throws(() => createRing({ shards, hash: crc32, label }), refusal('ring.label'))
  for (const options of [{ hash: 'crc32' }, { pointsPerShard: 5 }, { hash: crc32, pointsPerShard: 0 }]) {
    assert.throws(() => createRing({ shards, ...options } as RingOptions), InvalidOptionsError)
  }
})

test('a plain function places keys, as hand-written modulo code did', () => {
  const ring = createRing({ shards, ring: (key) => crc32(key) % shards.length })
  assert.equal(ring.preset, 'function')
  assert.equal(ring.locate('user:1'), crc32('user:1') % 3)
  assert.equal(ring.locate(Buffer.from('user:1')), crc32('user:1') % 3)
  const picture = ring.describe()
  assert.equal(picture.shares, 'unknown')
  assert.equal(picture.shards[0]!.share, undefined)
})

test('what a function returns is checked, and a key never gets into the message', () => {
  for (const bad of [3, -1, 0.5, Number.NaN, undefined, null, '0', 'a secret key', 1n]) {
    const ring = createRing({ shards, ring: (() => bad) as unknown as () => number })
    assert.throws(
      () => ring.locate('k'),
      (error: unknown) => {
        assert.ok(error instanceof InvalidOptionsError)
        assert.equal(error.option, 'ring')
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )
  }
  assert.throws(() => createRing({ shards: [{ name: 'a', weight: 2 }], ring: () => 0 }), refusal('masters[0].weight'))
})

function refusal(option: string): (error: unknown) => boolean {
  return (error) => error instanceof InvalidOptionsError && error.option === option
}
