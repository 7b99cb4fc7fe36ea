import { crc32 } from '../hashes/crc.js'
import { multiply, wide } from '../hashes/words.js'
import { xxh64 } from '../hashes/xxhash.js'
import { encodeText, span } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { hashText, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { refuseWeights } from '../shards.js'
import { bracesTag } from '../tags.js'

/*
 * redis.NewRing of go-redis; the names are the keys of RingOptions.Addrs. 6 and 7 have a ring of CRC-32 points, 8 and 9 take
 * the shard whose name fits a key best (rendezvous), where the place in the list and addresses play no part.
 */

export function placeGoRedis(shards: readonly GivenShard[], options: OptionReader): Placement {
  const version = options.oneOf('version', [6, 7, 8, 9])
  options.finish()
  refuseWeights(shards, 'go-redis')
  return version < 8 ? placePoints(shards) : placeRendezvous(shards)
}

function placePoints(shards: readonly GivenShard[]): Placement {
  const points = new PointCollector()
  for (const [i, { label }] of shards.entries()) {
    for (let n = 0; n < 100; n++) points.add(i, hashText(crc32, `${n}${label}`))
  }
  return pointRing({
    rule: bracesTag,
    hashId: 'crc32',
    hash: crc32,
    points: points.list('later'),
    facts: 'go-redis 6-7',
    ordered: false,
    shardCount: shards.length,
  })
}

function placeRendezvous(shards: readonly GivenShard[]): Placement {
  const count = shards.length
  const highs = new Int32Array(count)
  const lows = new Int32Array(count)
  for (const [i, { label }] of shards.entries()) {
    encodeText(label)
    highs[i] = xxh64(span.bytes, span.start, span.end)
    lows[i] = wide.low
  }
  const find = (): number => {
    const keyHigh = xxh64(span.bytes, span.start, span.end)
    const keyLow = wide.low
    let best = 0
    let bestHigh = 0
    let bestLow = 0
    for (let i = 0; i < count; i++) {
      const high = mix(keyHigh ^ highs[i]!, keyLow ^ lows[i]!) >>> 0
      const low = wide.low >>> 0
      if (i === 0 || high > bestHigh || (high === bestHigh && low > bestLow)) {
        best = i
        bestHigh = high
        bestLow = low
      }
    }
    return best
  }
  return {
    locateText(key) {
      bracesTag.text(key)
      return find()
    },
    locateBytes(key) {
      bracesTag.bytes(key)
      return find()
    },
    space: () => ({ kind: 'shares', hash: 'go-redis rendezvous', shares: shards.map(() => 1 / count) }),
    points: shards.map(() => 0),
    facts: 'go-redis 8-9',
    ordered: false,
  }
}

/** xorshift* of 64 bits: x ^= x >> 12; x ^= x << 25; x ^= x >> 27; x * 2685821657736338717. */
function mix(high: number, low: number): number {
  let h = high
  let l = low
  l ^= (l >>> 12) | (h << 20)
  h ^= h >>> 12
  h ^= (h << 25) | (l >>> 7)
  l ^= l << 25
  l ^= (l >>> 27) | (h << 5)
  h ^= h >>> 27
  return multiply(h, l, 0x2545f491, 0x4f6cdd1d)
}
