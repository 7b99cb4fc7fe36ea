import assert from 'node:assert/strict'
import { test } from 'node:test'
import vm from 'node:vm'
import { InvalidKeyError, InvalidOptionsError } from '../../../src/errors.js'
import { createRing, type RingOptions } from '../../../src/ring/index.js'

/** Options as a user without types may give them. */
const create = (options: unknown) => createRing(options as RingOptions)

function refuses(options: unknown, option: string, message: RegExp): void {
  assert.throws(
    () => create(options),
    (error: unknown) => {
      assert.ok(error instanceof InvalidOptionsError, String(error))
      assert.equal(error.option, option)
      assert.match(error.message, message)
      return true
    },
    JSON.stringify(options),
  )
}

const two = ['a', 'b']

test('a ring needs a list of shards with names that are neither blank nor double', () => {
  refuses(undefined, 'ring', /object/)
  refuses({}, 'masters', /array/)
  refuses({ shards: 'a,b' }, 'masters', /array/)
  refuses({ shards: [] }, 'masters', /at least one/)
  refuses({ shards: ['a', ' '] }, 'masters[1]', /blank/)
  refuses({ shards: ['a', ''] }, 'masters[1]', /blank/)
  refuses({ shards: ['a', 7] }, 'masters[1]', /name/)
  refuses({ shards: ['a', null] }, 'masters[1]', /name/)
  refuses({ shards: new Array(2) }, 'masters[0]', /name/)
  refuses({ shards: [{}] }, 'masters[0].name', /string/)
  refuses({ shards: [{ name: 'a', wieght: 2 }] }, 'masters[0].wieght', /did you mean 'weight'/)
  refuses({ shards: [{ name: 'a', label: '\t' }] }, 'masters[0].label', /blank/)
  refuses({ shards: [{ name: 'a', label: 7 }] }, 'masters[0].label', /string/)
  refuses({ shards: ['a', 'b', 'a'] }, 'masters[2].name', /shards 1 and 3/)
  refuses({ shards: ['a', { name: 'b', label: 'a' }] }, 'masters[1].label', /same label/)
})

test('a ring refuses weights that are no numbers, and those that its system cannot have', () => {
  for (const weight of [-1, Number.NaN, Number.POSITIVE_INFINITY, '2', null]) {
    refuses({ shards: ['a', { name: 'b', weight }] }, 'masters[1].weight', /number of 0 or more/)
  }
  refuses({ shards: [{ name: 'a', weight: 0 }] }, 'masters', /weight 0/)
  refuses({ shards: [{ name: 'a', weight: 5000 }] }, 'masters', /smaller/)
  for (const preset of ['jedis', 'jedis-md5', 'jedis-legacy', 'twemproxy', 'ketama', 'modula', 'predis']) {
    refuses({ preset, shards: ['a', { name: 'b', weight: 1.5 }] }, 'masters[1].weight', /whole number/)
  }
  for (const options of [
    { preset: 'redis-rb', version: 5 },
    { preset: 'go-redis', version: 9 },
    { preset: 'phpredis' },
  ]) {
    refuses({ ...options, shards: ['a', { name: 'b', weight: 2 }] }, 'masters[1].weight', /no weights/)
  }
  refuses({ preset: 'hashring', shards: ['a', { name: 'b', weight: 0 }] }, 'masters[1].weight', /write 1/)
  refuses({ preset: 'jedis', shards: [{ name: 'a', weight: 100_000 }] }, 'masters', /smaller/)
  refuses({ preset: 'modula', shards: [{ name: 'a', weight: 2_147_483_647 }] }, 'masters', /smaller/)
})

test('a ring names the nearest word for one that it does not know', () => {
  refuses({ shards: two, preset: 'jedi' }, 'ring.preset', /did you mean 'jedis'/)
  refuses({ shards: two, preset: 'RedisRB' }, 'ring.preset', /did you mean 'redis-rb'/)
  refuses({ shards: two, preset: 'zzzzzzzz' }, 'ring.preset', /known are 'murmur3'/)
  refuses({ shards: two, preset: 7 }, 'ring.preset', /must be one of/)
  refuses({ shards: two, preset: 'redis-rb', version: '5' }, 'ring.version', /must be the number 5, not a string/)
  refuses({ shards: two, preset: null }, 'ring.preset', /must be one of/)
  refuses({ shards: two, seed: 1 }, 'ring.seed', /no option/)
  refuses({ shards: two, preset: 'hashring', 'vnode count': 40 }, 'ring.vnode count', /did you mean 'vnodeCount'/)
  refuses({ shards: two, preset: 'twemproxy', hash_tag: '{}' }, 'ring.hash_tag', /did you mean 'hashTag'/)
  refuses({ shards: two, preset: 'twemproxy', hash: 'fnv1a-64' }, 'ring.hash', /did you mean 'fnv1a_64'/)
  refuses({ shards: two, preset: 'ketama', distribution: 'ketama' }, 'ring.distribution', /no option/)
  refuses({ shards: two, preset: 'hashring', algorithm: 'sha257' }, 'ring.algorithm', /did you mean/)
})

test('a ring refuses options of its preset that are out of bounds', () => {
  refuses({ shards: two, preset: 'jedis', tag: '{.+}' }, 'ring.tag', /repeats nothing/)
  refuses({ shards: two, preset: 'jedis', tag: 'abc' }, 'ring.tag', /no group/)
  refuses({ shards: two, preset: 'jedis', tag: /(a)/i }, 'ring.tag', /no flags/)
  refuses({ shards: two, preset: 'jedis', tag: 7 }, 'ring.tag', /pattern/)
  refuses({ shards: two, preset: 'jedis', naming: 'names' }, 'ring.naming', /'position' or 'label'/)
  refuses({ shards: two, preset: 'jedis', naming: ['label'] }, 'ring.naming', /each of the 2/)
  refuses({ shards: two, preset: 'jedis-legacy', hash: 'sha1' }, 'ring.hash', /murmur/)
  refuses({ shards: two, preset: 'hashring', replicas: 0 }, 'ring.replicas', /1 to 64/)
  refuses({ shards: two, preset: 'hashring', replicas: 3, compatibility: 'ketama' }, 'ring.replicas', /one of them/)
  refuses({ shards: two, preset: 'hashring', vnodes: { c: 1 } }, 'ring.vnodes', /no shard/)
  refuses({ shards: two, preset: 'hashring', vnodes: { a: 0 } }, 'ring.vnodes', /whole number/)
  refuses({ shards: two, preset: 'hashring', vnodes: [1, 2] }, 'ring.vnodes', /object/)
  refuses(
    { shards: ['a', { name: 'b', weight: 2 }], preset: 'hashring', vnodes: { a: 9 } },
    'masters[1].weight',
    /one of them/,
  )
  refuses({ shards: two, preset: 'twemproxy', hashTag: '{' }, 'ring.hashTag', /two bytes/)
  refuses({ shards: two, preset: 'predis', distributor: 'ketama', replicas: 5 }, 'ring.replicas', /no option/)
  refuses({ shards: two, preset: 'redis-rb' }, 'ring.version', /must be given/)
  refuses({ shards: two, preset: 'redis-rb', version: 6 }, 'ring.version', /one of 3, 4, 5/)
  refuses({ shards: two, preset: 'go-redis' }, 'ring.version', /must be given/)
  refuses({ shards: two, preset: 'phpredis', algorithm: 'nope' }, 'ring.algorithm', /does not know/)
  refuses({ shards: two, preset: 'phpredis', consistent: 1 }, 'ring.consistent', /true or false/)
  refuses({ shards: two, preset: 'slots', ranges: { a: [[0, 9]] } }, 'ring.ranges', /slot 10 without/)
  refuses(
    { shards: two, preset: 'slots', ranges: { a: [[0, 16383]], b: [[5, 5]] } },
    'ring.ranges',
    /slot 5 away twice/,
  )
  refuses(
    { shards: [{ name: 'a', weight: 2 }], preset: 'slots', ranges: { a: [[0, 16383]] } },
    'masters[0].weight',
    /no weights/,
  )
  refuses({ shards: two, preset: 'slots', ranges: { c: [[0, 16383]] } }, 'ring.ranges', /no shard/)
  refuses({ shards: two, preset: 'slots', ranges: { a: [[0, 16384]] } }, 'ring.ranges', /16383/)
  refuses({ shards: two, preset: 'slots', ranges: { a: [0, 16383] } }, 'ring.ranges', /pairs/)
})

test('the options of a ring may stand under `ring`, as the pool has them, and not in both places', () => {
  const flat = createRing({ shards: two, preset: 'ketama', hash: 'md5' })
  const nested = createRing({ shards: two, ring: { preset: 'ketama', hash: 'md5' } })
  assert.equal(nested.describe().fingerprint, flat.describe().fingerprint)
  assert.equal(createRing({ shards: two, ring: {} }).preset, 'murmur3')
  refuses({ shards: two, preset: 'jedis', ring: { preset: 'ketama' } }, 'ring.preset', /beside/)
  refuses({ shards: two, ring: 'jedis' }, 'ring', /object/)
  refuses({ shards: two, ring: null }, 'ring', /object/)
})

test('a key that is neither a string nor bytes is refused by every ring', () => {
  const rings: RingOptions[] = [
    { shards: two },
    { shards: two, preset: 'jedis' },
    { shards: two, preset: 'go-redis', version: 9 },
    { shards: two, preset: 'slots' },
    { shards: two, ring: () => 0 },
  ]
  for (const options of rings) {
    const ring = createRing(options)
    for (const key of [undefined, null, 7, 7n, {}, [], ['a'], Symbol('a'), true, new Date(), new Uint16Array(2)]) {
      assert.throws(() => ring.locate(key as string), InvalidKeyError)
    }
  }
})

test('bytes of another realm are bytes, and a view into a larger buffer is only its own bytes', () => {
  const ring = createRing({ shards: Array.from({ length: 16 }, (_, i) => `s${i}`) })
  const foreign = vm.runInNewContext('new Uint8Array([117, 115, 101, 114])') as Uint8Array
  assert.equal(ring.locate(foreign), ring.locate('user'))
  assert.equal(ring.locate(Buffer.from('xxuserxx').subarray(2, 6)), ring.locate('user'))
})

test('a ring keeps the order in which its shards were given, and cannot be changed from outside', () => {
  const input = [{ name: 'b', weight: 2 }, 'a', { name: 'c', label: '10.0.0.1:6379' }]
  const ring = createRing({ shards: input })
  input.length = 0
  assert.deepEqual(ring.shards, [
    { name: 'b', weight: 2, label: 'b' },
    { name: 'a', weight: 1, label: 'a' },
    { name: 'c', weight: 1, label: '10.0.0.1:6379' },
  ])
  assert.ok(Object.isFrozen(ring.shards) && Object.isFrozen(ring.shards[0]))
})

test('describe: the shares of every ring that has a hash space add up to one and agree with where keys go', () => {
  const shards = ['cache-a', 'cache-b', 'cache-c']
  const rings: RingOptions[] = [
    { shards },
    { shards, preset: 'jedis' },
    { shards, preset: 'jedis-md5' },
    { shards, preset: 'hashring' },
    { shards, preset: 'ketama', hash: 'crc32a' },
    { shards, preset: 'modula', hash: 'murmur' },
    { shards, preset: 'predis' },
    { shards, preset: 'redis-rb', version: 5 },
    { shards, preset: 'go-redis', version: 7 },
    { shards, preset: 'go-redis', version: 9 },
    { shards, preset: 'phpredis' },
    { shards, preset: 'phpredis', consistent: true },
    { shards, preset: 'slots' },
  ]
  for (const options of rings) {
    const ring = createRing(options)
    const picture = ring.describe()
    const sum = picture.shards.reduce((total, shard) => total + shard.share!, 0)
    assert.ok(Math.abs(sum - 1) < 1e-12, ring.preset)
    const held = [0, 0, 0]
    for (let i = 0; i < 20_000; i++) held[ring.locate(`user:${i}:profile`)]!++
    picture.shards.forEach((shard, i) => {
      assert.ok(Math.abs(held[i]! / 20_000 - shard.share!) < 0.025, `${ring.preset}: ${held[i]} of ${shard.share}`)
    })
  }
})

test('describe: the points are those of the original', () => {
  const points = (options: RingOptions) =>
    createRing(options)
      .describe()
      .shards.map((shard) => shard.points)
  const seven = Array.from({ length: 7 }, (_, i) => `127.0.0.1:${7400 + i}`)
  assert.deepEqual(points({ preset: 'hashring', shards: seven }), new Array(7).fill(156))
  assert.deepEqual(points({ preset: 'jedis', shards: ['a', { name: 'b', weight: 2 }] }), [160, 320])
  assert.deepEqual(points({ preset: 'slots', shards: ['a', 'b', 'c'] }), [5461, 5462, 5461])
  assert.deepEqual(points({ preset: 'predis', shards: ['a', { name: 'b', weight: 0 }] }), [128, 128])
  assert.equal(createRing({ preset: 'hashring', shards: seven }).describe().points, 7 * 156)
})

test('the fingerprint tells apart whatever places keys otherwise', () => {
  const print = (options: RingOptions) => createRing(options).describe().fingerprint
  const different: RingOptions[] = [
    { shards: two },
    { shards: ['a', 'c'] },
    { shards: ['a', { name: 'b', weight: 2 }] },
    { shards: two, preset: 'jedis' },
    { shards: ['b', 'a'], preset: 'jedis' },
    { shards: two, preset: 'jedis', tag: '\\{(.+?)\\}' },
    { shards: two, preset: 'jedis', naming: 'label' },
    { shards: two, preset: 'jedis', naming: ['label', 'position'] },
    { shards: two, preset: 'jedis-md5' },
    { shards: two, preset: 'jedis-legacy' },
    { shards: two, preset: 'hashring' },
    { shards: two, preset: 'hashring', vnodeCount: 50 },
    { shards: two, preset: 'hashring', vnodes: { a: 7 } },
    { shards: two, preset: 'ketama' },
    { shards: two, preset: 'ketama', hashTag: '{}' },
    { shards: two, preset: 'modula' },
    { shards: ['b', 'a'], preset: 'modula' },
    { shards: two, preset: 'predis' },
    { shards: two, preset: 'predis', distributor: 'ketama' },
    { shards: two, preset: 'redis-rb', version: 4 },
    { shards: two, preset: 'redis-rb', version: 5 },
    { shards: two, preset: 'go-redis', version: 7 },
    { shards: two, preset: 'go-redis', version: 9 },
    { shards: two, preset: 'phpredis' },
    { shards: two, preset: 'phpredis', consistent: true },
    { shards: two, preset: 'phpredis', algorithm: 'md5' },
    { shards: two, preset: 'slots' },
    { shards: ['b', 'a'], preset: 'slots' },
    { shards: two, preset: 'slots', ranges: { a: [[0, 99]], b: [[100, 16383]] } },
    { shards: two, hash: (bytes) => bytes.length },
    { shards: two, hash: (bytes) => bytes.length * 7 },
    { shards: two, ring: (key) => key.length % 2 },
    { shards: two, ring: (key) => (key.length + 1) % 2 },
  ]
  const prints = different.map(print)
  assert.equal(new Set(prints).size, prints.length)
  assert.deepEqual(different.map(print), prints)
})

test('the fingerprint is the same where keys are placed the same', () => {
  const print = (options: RingOptions) => createRing(options).describe().fingerprint
  const swapped = ['b', 'a']
  assert.equal(print({ shards: two, preset: 'ketama' }), print({ shards: swapped, preset: 'twemproxy' }))
  assert.equal(
    print({ shards: two, preset: 'jedis', naming: 'label' }),
    print({ shards: swapped, preset: 'jedis', naming: 'label' }),
  )
  assert.equal(
    print({ shards: two, preset: 'go-redis', version: 8 }),
    print({ shards: swapped, preset: 'go-redis', version: 9 }),
  )
  assert.equal(
    print({ shards: two, preset: 'redis-rb', version: 3 }),
    print({ shards: swapped, preset: 'redis-rb', version: 4 }),
  )
  const [a, b]: [[number, number][], [number, number][]] = [[[0, 5]], [[6, 16383]]]
  assert.equal(
    print({ shards: two, preset: 'slots', ranges: { a, b } }),
    print({
      shards: swapped,
      preset: 'slots',
      ranges: {
        b: [
          [100, 16383],
          [6, 99],
        ],
        a,
      },
    }),
  )
})

test('the fingerprint of the default ring is a text that people can read', () => {
  const { fingerprint } = createRing({ shards: ['cache-b', { name: 'cache-a', weight: 2 }] }).describe()
  assert.equal(fingerprint, 'murmur3 seed=0 points=1024 nearest in any order: "cache-a"*2 "cache-b"*1')
})
