import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createRing, type RingOptions } from '../../../src/ring/index.js'

/** Quirks that the vectors of the real systems do not reach, checked against plain code made of their descriptions. */

const keyOf = (i: number) => `user:${i}`

function sameKeys(a: RingOptions, b: RingOptions): boolean {
  const [x, y] = [createRing(a), createRing(b)]
  for (let i = 0; i < 400; i++) if (x.locate(keyOf(i)) !== y.locate(keyOf(i))) return false
  return true
}

const abc = ['a', 'b', 'c']

test('jedis: naming says which shards go by position and which by label', () => {
  const labelled = abc.map((label, i) => ({ name: `m${i}`, label }))
  assert.ok(sameKeys({ preset: 'jedis', shards: labelled }, { preset: 'jedis', shards: abc, naming: 'label' }))
  assert.ok(
    sameKeys({ preset: 'jedis', shards: labelled, naming: 'position' }, { preset: 'jedis', shards: ['x', 'y', 'z'] }),
  )
  assert.ok(
    sameKeys(
      { preset: 'jedis', shards: ['m0', labelled[1]!, 'm2'] },
      { preset: 'jedis', shards: abc, naming: ['position', 'label', 'position'] },
    ),
  )
  assert.ok(
    sameKeys(
      { preset: 'jedis-legacy', shards: abc, naming: 'position', hash: 'md5' },
      { preset: 'jedis-md5', shards: abc },
    ),
  )
  assert.ok(!sameKeys({ preset: 'jedis-legacy', shards: abc }, { preset: 'jedis', shards: abc, naming: 'label' }))
})

test('jedis: a tag pattern may be a RegExp', () => {
  const text = '\\{(.+?)\\}'
  const key = 'a{user:1}b'
  const [x, y] = [text, /\{(.+?)\}/].map((tag) => createRing({ preset: 'jedis', shards: abc, tag }))
  assert.equal(x!.locate(key), y!.locate(key))
  assert.equal(x!.locate(key), createRing({ preset: 'jedis', shards: abc }).locate('user:1'))
})

test('ketama: the port of memcached is no part of a name', () => {
  const hosts = ['10.0.0.1', '10.0.0.2', '10.0.0.3']
  assert.ok(sameKeys({ preset: 'ketama', shards: hosts.map((h) => `${h}:11211`) }, { preset: 'ketama', shards: hosts }))
})

test('ketama and modula: a weight of 0 is no keys', () => {
  for (const preset of ['ketama', 'modula'] as const) {
    const ring = createRing({ preset, shards: ['a', { name: 'b', weight: 0 }, 'c'] })
    for (let i = 0; i < 500; i++) assert.notEqual(ring.locate(keyOf(i)), 1)
  }
})

test('redis-rb: a label may be host:port or the id that redis-rb makes of it', () => {
  const hosts = ['10.0.0.1:6379', '10.0.0.2:6379']
  const ids = (suffix: string) => hosts.map((host) => `redis://${host}${suffix}`)
  assert.ok(
    sameKeys({ preset: 'redis-rb', version: 4, shards: hosts }, { preset: 'redis-rb', version: 4, shards: ids('/0') }),
  )
  assert.ok(
    sameKeys({ preset: 'redis-rb', version: 5, shards: hosts }, { preset: 'redis-rb', version: 5, shards: ids('') }),
  )
  assert.ok(
    sameKeys(
      { preset: 'redis-rb', version: 5, shards: hosts, db: 3 },
      { preset: 'redis-rb', version: 5, shards: ids('/3') },
    ),
  )
})

test('predis: a weight of 0 is 100, and a share of exactly a half is rounded up', () => {
  const zero = createRing({ preset: 'predis', shards: ['a', { name: 'b', weight: 0 }] })
  assert.equal(zero.shards[1]!.weight, 100)
  assert.ok(
    sameKeys({ preset: 'predis', shards: abc }, { preset: 'predis', shards: abc.map((name) => ({ name, weight: 0 })) }),
  )
  // 1 / 768 * 3 * 128 is a half, which doubles may miss from below.
  const half = createRing({
    preset: 'predis',
    shards: [
      { name: 'a', weight: 1 },
      { name: 'b', weight: 383 },
      { name: 'c', weight: 384 },
    ],
  })
  assert.equal(half.describe().shards[0]!.points, 1)
})

test('phpredis: a digest is read as eight bytes little-endian modulo 2^32 - 1, whatever its name', () => {
  for (const [algorithm, node] of [
    ['sha256', 'sha256'],
    ['sha512/256', 'sha512-256'],
    ['md5', 'md5'],
  ] as const) {
    const ring = createRing({ preset: 'phpredis', shards: abc, algorithm })
    for (let i = 0; i < 200; i++) {
      const digest = createHash(node).update(keyOf(i)).digest()
      const r = digest.readBigUInt64LE(0) % 0xffffffffn
      assert.equal(ring.locate(keyOf(i)), Number(((r ^ 0xffffffffn) * 3n) / 0xffffffffn))
    }
  }
})

test('phpredis: the one hash past its list goes to the last shard', () => {
  assert.equal(createRing({ preset: 'phpredis', shards: abc }).locate(Buffer.from([255, 255, 255, 255])), 2)
  for (const algorithm of ['crc32b', 'murmur3a']) {
    assert.equal(createRing({ preset: 'phpredis', shards: abc, algorithm }).locate(''), 2)
  }
})

test('hashring: any digest may be named, and bytes past its end count as 0', () => {
  const shards = ['a', 'b']
  const ring = createRing({ preset: 'hashring', shards, algorithm: 'sha384', replicas: 13 })
  const points = shards
    .flatMap((name, owner) =>
      Array.from({ length: 40 }, (_, j) => {
        const digest = Buffer.concat([createHash('sha384').update(`${name}-${j}`).digest(), Buffer.alloc(4)])
        return Array.from({ length: 13 }, (_, r) => ({ hash: digest.readUInt32LE(r * 4), owner }))
      }).flat(),
    )
    .sort((x, y) => x.hash - y.hash)
  for (let i = 0; i < 300; i++) {
    const hash = createHash('sha384').update(keyOf(i)).digest().readUInt32LE(0)
    assert.equal(ring.locate(keyOf(i)), (points.find((p) => p.hash >= hash) ?? points[0]!).owner)
  }
  assert.deepEqual(
    ring.describe().shards.map((shard) => shard.points),
    [520, 520],
  )
})

test('go-redis: the order of the list and the version within a scheme play no part', () => {
  for (const [version, same] of [
    [9, 8],
    [7, 6],
  ] as const) {
    const ring = createRing({ preset: 'go-redis', version, shards: abc })
    const other = createRing({ preset: 'go-redis', version: same, shards: ['c', 'a', 'b'] })
    for (let i = 0; i < 300; i++) {
      assert.equal(ring.shards[ring.locate(keyOf(i))]!.name, other.shards[other.locate(keyOf(i))]!.name)
    }
  }
})

test('slots: they are spread as redis-cli does, by weight, or as they are given', () => {
  const spread = (shards: RingOptions['shards']) =>
    createRing({ preset: 'slots', shards })
      .describe()
      .shards.map((s) => s.points)
  assert.deepEqual(spread(abc), [5461, 5462, 5461])
  assert.deepEqual(spread(['a', 'b', 'c', 'd', 'e']), [3277, 3277, 3276, 3277, 3277])
  assert.deepEqual(
    spread([{ name: 'a', weight: 3 }, { name: 'b', weight: 0 }, 'c', { name: 'd', weight: 0 }]),
    [12288, 0, 4096, 0],
  )
  // CRC-16 of the check text is 0x31c3, slot 12739.
  const ranges: Record<string, [number, number][]> = {
    b: [
      [0, 12738],
      [12740, 16383],
    ],
    a: [[12739, 12739]],
  }
  assert.equal(createRing({ preset: 'slots', shards: ['a', 'b'], ranges }).locate('123456789'), 0)
})
