import { crc16Unmasked, crc32 } from '../hashes/crc.js'
import { fnv1a32Signed, fnv1a64Cut, fnv1x32Signed, fnv1x64Low } from '../hashes/fnv.js'
import { hsieh, lookup3, oneAtATimeSigned } from '../hashes/jenkins.js'
import { md5 } from '../hashes/md5.js'
import { murmur2 } from '../hashes/murmur2.js'
import { utf8 } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { TwemproxyHash } from '../options.js'
import type { Placement } from '../placement.js'
import { type ByteHash, PointCollector, pointRing } from '../point-ring.js'
import { remainderRing } from '../remainder-ring.js'
import type { GivenShard } from '../shards.js'
import { requireWholeWeights } from '../shards.js'
import { type KeyRule, pairTag, wholeKey } from '../tags.js'
import { addMd5Points } from './md5-points.js'

/*
 * twemproxy (nutcracker) 0.5 on a CPU whose `char` is signed. The hash is that of the keys; the points of ketama are always
 * MD5. The empty key has hash 0 with every hash.
 */

export const TWEMPROXY_HASHES: Readonly<Record<TwemproxyHash, ByteHash>> = {
  one_at_a_time: oneAtATimeSigned,
  md5,
  crc16: crc16Unmasked,
  crc32: (bytes, start, end) => (crc32(bytes, start, end) >>> 16) & 0x7fff,
  crc32a: crc32,
  fnv1_64: fnv1x64Low,
  fnv1a_64: fnv1a64Cut,
  fnv1_32: fnv1x32Signed,
  fnv1a_32: fnv1a32Signed,
  hsieh,
  murmur: murmur2,
  jenkins: (bytes, start, end) => lookup3(bytes, start, end, 13),
}
const HASH_NAMES = Object.keys(TWEMPROXY_HASHES) as TwemproxyHash[]

type Distribution = 'ketama' | 'modula'

export function placeTwemproxy(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'twemproxy', options.oneOf('distribution', ['ketama', 'modula'], 'ketama'))
}

export function placeKetama(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'ketama', 'ketama')
}

export function placeModula(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'modula', 'modula')
}

function place(
  shards: readonly GivenShard[],
  options: OptionReader,
  preset: string,
  distribution: Distribution,
): Placement {
  const name = options.oneOf('hash', HASH_NAMES, 'fnv1a_64')
  const rule = readHashTag(options)
  options.finish()
  requireWholeWeights(shards, preset)
  const hashKey = TWEMPROXY_HASHES[name]
  const settings = {
    rule,
    hashId: `twemproxy ${name}`,
    hash: (bytes: Uint8Array, start: number, end: number) => (start === end ? 0 : hashKey(bytes, start, end)),
    facts: `twemproxy ${distribution} hash=${name} hash_tag=${rule.id}`,
    shardCount: shards.length,
  }
  if (distribution === 'modula') return remainderRing({ ...settings, weights: shards.map((shard) => shard.weight) })
  return pointRing({ ...settings, points: ketamaPoints(shards).list('earlier'), ordered: false })
}

function ketamaPoints(shards: readonly GivenShard[]): PointCollector {
  const points = new PointCollector()
  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  for (const [i, { label, weight }] of shards.entries()) {
    // memcached's port is left out of a server's name.
    const server = label.endsWith(':11211') ? label.slice(0, -':11211'.length) : label
    const labels = ketamaLabels(weight, total, shards.length)
    for (let j = 0; j < labels; j++) addMd5Points(points, i, `${server}-${j}`)
  }
  return points
}

/** floor(weight / total * 160 / 4 * servers + 1e-10) with C's float at every step. */
function ketamaLabels(weight: number, total: number, servers: number): number {
  const f = Math.fround
  const share = f(f(weight) / f(total))
  const labels = f(f(f(share * 160) / 4) * f(servers))
  return Math.floor(f(labels + 1e-10))
}

/** `hash_tag`: two bytes; they may be the two of one character past ASCII, as in the configuration file. */
function readHashTag(options: OptionReader): KeyRule {
  const text = options.text('hashTag')
  if (text === undefined) return wholeKey
  const bytes = utf8(text)
  if (bytes.length !== 2) throw options.error('hashTag', "must be two bytes, such as '{}'")
  return pairTag(text, bytes[0]!, bytes[1]!)
}
