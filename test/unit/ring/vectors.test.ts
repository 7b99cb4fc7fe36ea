import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRing, type RingOptions, type ShardInput } from '../../../src/ring/index.js'
import { type Case, keys, readVectors, type VectorFile } from './support/vectors.js'

/** Compares every answer of a file with a ring that `options` makes of the topology of each case. */
function everyCaseMatches<T>(file: string, options: (topology: T) => RingOptions): void {
  test(`${file}: every key is where the real system put it`, () => {
    const { cases } = readVectors<VectorFile<T>>(file)
    assert.ok(cases.length > 0)
    for (const vector of cases) checkCase(vector, options(vector.topology))
  })
}

function checkCase<T>(vector: Case<T>, options: RingOptions): void {
  const ring = createRing(options)
  const kinds = [
    [keys.text, vector.shards],
    [keys.binary, vector.binary ?? []],
    [keys.lone, vector.lone ?? []],
  ] as const
  for (const [given, answers] of kinds) {
    answers.forEach((answer, i) => {
      const found = ring.locate(given[i]!)
      if (answer !== null && found !== answer) {
        assert.fail(`${JSON.stringify(vector.topology)}: ${JSON.stringify(given[i])} is on ${found}, not ${answer}`)
      }
      // No answer of the peer: still a shard of ours.
      assert.ok(found >= 0 && found < ring.shards.length)
    })
  }
}

function weigh(names: readonly string[], weights?: readonly number[]): ShardInput[] {
  return names.map((name, i) => (weights === undefined ? name : { name, weight: weights[i] }))
}

const loopback = (count: number) => Array.from({ length: count }, (_, i) => `127.0.0.1:${7400 + i}`)

interface JedisTopology {
  algo: 'MURMUR_HASH' | 'MD5'
  tag: string | null
  names: (string | null)[] | null
  weights: number[]
}

function jedis({ algo, tag, names, weights }: JedisTopology): RingOptions {
  return {
    preset: algo === 'MD5' ? 'jedis-md5' : 'jedis',
    shards: weights.map((weight, i) => ({ name: `shard-${i}`, weight, label: names?.[i] ?? undefined })),
    tag: tag ?? undefined,
  }
}

function jedisLegacy({ algo, tag, names, weights }: JedisTopology): RingOptions {
  return {
    preset: 'jedis-legacy',
    hash: algo === 'MD5' ? 'md5' : 'murmur',
    shards: weights.map((weight, i) => ({ name: `shard-${i}`, weight, label: names?.[i] ?? undefined })),
    naming: weights.map((_, i) => (names?.[i] == null ? 'position' : 'label')),
    tag: tag ?? undefined,
  }
}

everyCaseMatches('jedis', jedis)
everyCaseMatches('jedis4-sharding', jedis)
everyCaseMatches('jedis-legacy-named', jedisLegacy)
everyCaseMatches('jedis-1.5', jedisLegacy)

everyCaseMatches(
  'hashring-npm',
  (t: {
    names: string[]
    weights?: number[]
    vnodes?: number[]
    algorithm?: string
    options?: {
      compatibility?: 'ketama' | 'hash_ring'
      replicas?: number
      'vnode count'?: number
      'default port'?: number
    }
  }) => ({
    preset: 'hashring',
    shards: weigh(t.names, t.weights),
    algorithm: t.algorithm,
    compatibility: t.options?.compatibility,
    replicas: t.options?.replicas,
    vnodeCount: t.options?.['vnode count'],
    defaultPort: t.options?.['default port'],
    vnodes: t.vnodes && Object.fromEntries(t.names.map((name, i) => [name, t.vnodes![i]!])),
  }),
)

interface TwemproxyTopology {
  distribution: 'ketama' | 'modula'
  hash: 'fnv1a_64'
  names: string[] | null
  weights: number[]
  hash_tag: string | null
}

everyCaseMatches('twemproxy', (t: TwemproxyTopology) => ({
  preset: 'twemproxy',
  distribution: t.distribution,
  hash: t.hash,
  hashTag: t.hash_tag ?? undefined,
  shards: weigh(t.names ?? loopback(t.weights.length), t.weights),
}))

everyCaseMatches('predis', (t: { distributor: string; nodes: string[]; weights?: number[]; replicas?: number }) => ({
  preset: 'predis',
  distributor: t.distributor === 'KetamaRing' ? 'ketama' : 'hashring',
  replicas: t.replicas,
  shards: weigh(t.nodes, t.weights),
}))

interface RubyTopology {
  nodes: string[]
  db?: number
  tag?: string
  replicas?: number
}

for (const version of [4, 5] as const) {
  everyCaseMatches(`redis-rb-${version}`, (t: RubyTopology) => ({
    preset: 'redis-rb',
    version,
    db: t.db,
    tag: t.tag,
    replicas: t.replicas,
    shards: t.nodes,
  }))
}

for (const version of [7, 9] as const) {
  everyCaseMatches(`go-redis-${version}`, (t: { names: string[] }) => ({
    preset: 'go-redis',
    version,
    shards: t.names,
  }))
}

everyCaseMatches('phpredis-redisarray', (t: { hosts: string[]; consistent?: boolean; algorithm?: string }) => ({
  preset: 'phpredis',
  consistent: t.consistent,
  algorithm: t.algorithm,
  shards: t.hosts,
}))

test('redis-cluster-slots: every key is in the slot that Redis says', () => {
  // A ring tells only shards, so one shard per bit of the slot number spells it out.
  const [slots] = readVectors<VectorFile<unknown>>('redis-cluster-slots').cases
  for (let bit = 0; bit < 14; bit++) {
    const ranges: { zero: [number, number][]; one: [number, number][] } = { zero: [], one: [] }
    for (let slot = 0; slot < 16384; slot++) ranges[(slot >> bit) & 1 ? 'one' : 'zero'].push([slot, slot])
    const ring = createRing({ preset: 'slots', shards: ['zero', 'one'], ranges })
    keys.text.forEach((key, i) => {
      assert.equal(ring.locate(key), (slots!.shards[i]! >> bit) & 1)
    })
    keys.binary.forEach((key, i) => {
      assert.equal(ring.locate(key), (slots!.binary![i]! >> bit) & 1)
    })
  }
})
