import { murmur3x128 } from '../hashes/murmur3-128.js'
import { utf8 } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { type ByteHash, PointCollector, pointRing } from '../point-ring.js'
import { checkShardIndex } from '../shard-index.js'
import type { GivenShard, RingShard } from '../shards.js'
import { refuseWeights } from '../shards.js'
import { bracesTag, wholeKey } from '../tags.js'

/* Rings of the user's own: a hash that makes points, or a function that does everything. */

export function placeOwn(shards: readonly GivenShard[], options: OptionReader): Placement {
  const userHash = options.value('hash')
  if (typeof userHash !== 'function') throw options.error('hash', 'must be a function of bytes that returns 32 bits')
  const pointsPerShard = options.integer('pointsPerShard', 160, 1, 65536)
  const label = options.value('label') ?? ((shard: RingShard, n: number) => `${shard.label}-${n}`)
  if (typeof label !== 'function') throw options.error('label', 'must be a function of a shard and a number')
  const rule = options.boolean('hashTags', false) ? bracesTag : wholeKey
  options.finish()

  const hashBytes = (bytes: Uint8Array): number => {
    const hash: unknown = userHash(bytes)
    if (typeof hash === 'number' && Number.isInteger(hash) && hash >= -0x80000000 && hash <= 0xffffffff) return hash | 0
    throw options.error('hash', 'must return a whole number of 32 bits, signed or unsigned')
  }
  // The user's code gets bytes of its own: it may keep them, and the scratch is used again.
  const hash: ByteHash = (bytes, start, end) => hashBytes(bytes.slice(start, end))

  const points = new PointCollector()
  const digest: string[] = []
  // Points that are equal go to the lower label, so that the order of the list plays no part.
  const sorted = shards
    .map((shard, index) => ({ shard, index }))
    .sort((a, b) => (a.shard.label < b.shard.label ? -1 : 1))
  for (const { shard, index } of sorted) {
    const { name, weight, label: shardLabel } = shard
    const seen = Object.freeze({ name, weight, label: shardLabel })
    const count = weight === 0 ? 0 : Math.max(1, Math.round(pointsPerShard * weight))
    for (let n = 0; n < count; n++) {
      const text: unknown = label(seen, n)
      if (typeof text !== 'string') throw options.error('label', 'must return a string')
      const point = hashBytes(utf8(text))
      points.add(index, point)
      digest.push(point.toString(16))
    }
  }
  return pointRing({
    rule,
    hashId: `own ${probe((key) => hashBytes(utf8(key)))}`,
    hash,
    points: points.list('earlier'),
    facts: `own pointsPerShard=${pointsPerShard} tags=${rule.id} points=${murmur3x128(utf8(digest.join()))}`,
    ordered: false,
    shardCount: shards.length,
  })
}

export function placeFunction(shards: readonly GivenShard[], options: OptionReader): Placement {
  const locate = options.value('locate')
  if (typeof locate !== 'function') throw options.error('locate', 'must be a function')
  options.finish()
  refuseWeights(shards, 'function')
  const count = shards.length
  const place = (key: string | Uint8Array): number => checkShardIndex(locate(key), count)
  return {
    locateText: place,
    locateBytes: place,
    space: () => ({ kind: 'shares', hash: 'function', shares: undefined }),
    points: shards.map(() => 0),
    get facts() {
      return `function ${probe(place)}`
    },
    ordered: true,
  }
}

const PROBES = 256

/** What a function says of some fixed keys: all that can be known of it, so two that differ there are told apart. */
function probe(ask: (key: string) => number): string {
  return murmur3x128(utf8(Array.from({ length: PROBES }, (_, i) => ask(`probe:${i}`)).join()))
}
