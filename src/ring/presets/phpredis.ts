import { suggestion } from '../../nearest.js'
import { crc32 } from '../hashes/crc.js'
import { digestNames, digestOf, isDigest } from '../hashes/digest.js'
import { fnv1a32 } from '../hashes/fnv.js'
import { md5, md5Words } from '../hashes/md5.js'
import { murmur3 } from '../hashes/murmur3.js'
import { xxh32 } from '../hashes/xxhash.js'
import { span } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { type ByteHash, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { refuseWeights } from '../shards.js'
import { phpTag } from '../tags.js'
import { addMd5Points } from './md5-points.js'

/*
 * RedisArray of phpredis 5.3 (redis_array_impl.c). Let r be the CRC-32 of the key without its final inversion or, with
 * `algorithm`, the first 8 digest bytes modulo 2^32 - 1. Default: the shard is floor((r ^ 0xffffffff) * count / 0xffffffff);
 * names play no part. `consistent`: ketama points of the host strings, looked up with r itself.
 *
 * Where that quotient is `count` itself (one hash of all, 0xffffffff), phpredis reads past its list and may crash, so no
 * key can have been stored there: such keys are given to the last shard.
 */

const TOP = 0xffffffff

/** PHP's algorithms that node:crypto does not have. Their digests are written big-endian and then read little-endian. */
const SHORT_HASHES: ReadonlyMap<string, ByteHash> = new Map([
  ['crc32b', crc32],
  ['fnv1a32', fnv1a32],
  ['xxh32', xxh32],
  ['murmur3a', (bytes: Uint8Array, start: number, end: number) => murmur3(bytes, start, end, 0)],
])

export function placePhpredis(shards: readonly GivenShard[], options: OptionReader): Placement {
  const consistent = options.boolean('consistent', false)
  // PHP does not mind the case of a name.
  const algorithm = options.text('algorithm')?.toLowerCase()
  const hash = algorithm === undefined ? plainCrc : algorithmHash(algorithm, options)
  options.finish()
  refuseWeights(shards, 'phpredis')
  const hashId = `phpredis ${algorithm ?? 'crc32'}`
  const facts = `${hashId} ${consistent ? 'consistent' : 'ranges'}`
  if (!consistent) return placeRanges(shards, hash, hashId, facts)
  const points = new PointCollector()
  for (const [i, { label }] of shards.entries()) {
    for (let j = 0; j < 40; j++) addMd5Points(points, i, `${label}-${j}`)
  }
  const list = points.list('earlier')
  return pointRing({ rule: phpTag, hashId, hash, points: list, facts, ordered: false, shardCount: shards.length })
}

function placeRanges(shards: readonly GivenShard[], hash: ByteHash, hashId: string, facts: string): Placement {
  const count = shards.length
  const find = (): number => {
    const place = ~hash(span.bytes, span.start, span.end) >>> 0
    // Below 2^53 for any list, and the quotient is never nearer to the next whole number than 1 / 2^32.
    return place === TOP ? count - 1 : Math.floor((place * count) / TOP)
  }
  return {
    locateText(key) {
      phpTag.text(key)
      return find()
    },
    locateBytes(key) {
      phpTag.bytes(key)
      return find()
    },
    space: () => ({
      kind: 'segments',
      hash: `inverted ${hashId} of ${phpTag.id}`,
      ends: Float64Array.from(shards, (_, i) =>
        i + 1 === count ? 1 : Math.ceil(((i + 1) * TOP) / count) / 0x100000000,
      ),
      owners: Uint16Array.from(shards, (_, i) => i),
    }),
    points: shards.map(() => 0),
    facts,
    ordered: true,
  }
}

const plainCrc: ByteHash = (bytes, start, end) => ~crc32(bytes, start, end)

/** r for a named algorithm of PHP. */
function algorithmHash(name: string, options: OptionReader): ByteHash {
  if (name === 'md5') {
    return (bytes, start, end) => {
      md5(bytes, start, end)
      return reduce(md5Words[0]!, md5Words[1]!)
    }
  }
  const short = SHORT_HASHES.get(name)
  if (short !== undefined) return (bytes, start, end) => reduce(swap(short(bytes, start, end)), 0)
  // PHP writes sha512/256 where OpenSSL has sha512-256.
  const cryptoName = name.replace('/', '-')
  if (!isDigest(cryptoName)) {
    throw options.error(
      'algorithm',
      `does not know '${name}'${suggestion(name, [...SHORT_HASHES.keys(), ...digestNames()])}`,
    )
  }
  const digest = digestOf(cryptoName)
  return (bytes, start, end) => {
    const words = digest(bytes.subarray(start, end))
    return reduce(word(words, 0), word(words, 4))
  }
}

/** A number of 64 bits modulo 2^32 - 1, of which 2^32 leaves 1. */
function reduce(low: number, high: number): number {
  return (((low >>> 0) + (high >>> 0)) % TOP) | 0
}

function swap(value: number): number {
  return (value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24)
}

function word(bytes: Uint8Array, i: number): number {
  return (bytes[i] ?? 0) | ((bytes[i + 1] ?? 0) << 8) | ((bytes[i + 2] ?? 0) << 16) | ((bytes[i + 3] ?? 0) << 24)
}
