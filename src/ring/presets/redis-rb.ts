import { crc32 } from '../hashes/crc.js'
import { md5, md5Words } from '../hashes/md5.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { hashText, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { refuseWeights } from '../shards.js'
import { rubyTag } from '../tags.js'
import { readPattern } from './jedis.js'

/*
 * Redis::Distributed of redis-rb: points `<id>:<n>`, where the id is the URL of the server. Up to 4 the point is the CRC-32 of
 * that, and the URL always ends in /db; from 5 on it is the first four bytes of its MD5, big-endian, and /0 is left out. Keys
 * are CRC-32 in both.
 */

export function placeRedisRb(shards: readonly GivenShard[], options: OptionReader): Placement {
  const version = options.oneOf('version', [3, 4, 5])
  const old = version < 5
  const replicas = options.integer('replicas', 160, 1, 65536)
  const db = options.integer('db', 0, 0, 0x7fffffff)
  const rule = rubyTag(readPattern(options, 'tag') ?? '^\\{(.+?)\\}')
  options.finish()
  refuseWeights(shards, 'redis-rb')
  const points = new PointCollector()
  for (const [i, { label }] of shards.entries()) {
    const id = serverId(label, db, old)
    for (let n = 0; n < replicas; n++) points.add(i, hashText(old ? crc32 : md5BigEndian, `${id}:${n}`))
  }
  return pointRing({
    rule,
    hashId: 'crc32',
    hash: crc32,
    points: points.list('later'),
    direction: 'floor',
    facts: `redis-rb ${old ? '3-4' : '5'} replicas=${replicas} db=${db} tag=${rule.id}`,
    ordered: false,
    shardCount: shards.length,
  })
}

/** A label of the form host:port is made the URL that redis-rb would make of it; any other label is the id already. */
function serverId(label: string, db: number, old: boolean): string {
  if (!/^[^/]+:\d+$/.test(label)) return label
  return `redis://${label}${old || db !== 0 ? `/${db}` : ''}`
}

function md5BigEndian(bytes: Uint8Array, start: number, end: number): number {
  md5(bytes, start, end)
  const word = md5Words[0]!
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}
