import { md5 } from '../hashes/md5.js'
import { murmur64a } from '../hashes/murmur64a.js'
import { wide } from '../hashes/words.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { type ByteHash, hashText, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { requireWholeWeights } from '../shards.js'
import { javaTag } from '../tags.js'

/*
 * ShardedJedis, ShardedJedisPool and ShardedJedisSentinelPool (util/Sharded.java of Jedis 2 and 3), JedisSharding of 4 and 5.
 * 160 points per unit of weight. A shard without a name is called by its place in the list, `SHARD-<i>-NODE-<n>`, one with a
 * name by it: `<name>*<n>` from 2.10 on, `<name>*<weight><n>` before and, with host:port as the name, in 1.5.
 */

const POINTS = 160
const SEED = 0x1234abcd

type JedisHash = 'murmur' | 'md5'
type Naming = 'position' | 'label'
const NAMINGS: readonly Naming[] = ['position', 'label']

const murmur: ByteHash = (bytes, start, end) => murmur64a(bytes, start, end, SEED)

export function placeJedis(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'jedis', 'murmur')
}

export function placeJedisMd5(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'jedis-md5', 'md5')
}

export function placeJedisLegacy(shards: readonly GivenShard[], options: OptionReader): Placement {
  return place(shards, options, 'jedis-legacy', options.oneOf('hash', ['murmur', 'md5'], 'murmur'))
}

function place(shards: readonly GivenShard[], options: OptionReader, preset: string, hash: JedisHash): Placement {
  const legacy = preset === 'jedis-legacy'
  const namings = readNamings(shards, options, legacy)
  const rule = javaTag(readPattern(options, 'tag'))
  options.finish()
  requireWholeWeights(shards, preset)

  const points = new PointCollector()
  for (const [i, { label, weight }] of shards.entries()) {
    const named = legacy ? `${label}*${weight}` : `${label}*`
    const prefix = namings[i] === 'position' ? `SHARD-${i}-NODE-` : named
    for (let n = 0; n < POINTS * weight; n++) {
      const high = hashText(hash === 'md5' ? md5 : murmur, prefix + n, 'question')
      if (hash === 'md5') points.add(i, high)
      else points.add(i, high, wide.low)
    }
  }
  const byPosition = namings.includes('position')
  const names = byPosition && namings.includes('label') ? namings.join(',') : namings[0]
  return pointRing({
    rule,
    hashId: hash === 'md5' ? 'md5' : `murmur64a(${SEED})`,
    hash: hash === 'md5' ? md5 : murmur,
    points: points.list('later'),
    facts: `jedis hash=${hash} names=${names}${legacy ? ' legacy' : ''} tag=${rule.id}`,
    ordered: byPosition,
    shardCount: shards.length,
  })
}

/** How each shard is called. */
function readNamings(shards: readonly GivenShard[], options: OptionReader, legacy: boolean): readonly Naming[] {
  const value = options.value('naming')
  if (value === undefined) return shards.map((shard) => (legacy || shard.labelled ? 'label' : 'position'))
  const list: readonly unknown[] = Array.isArray(value) ? value : shards.map(() => value)
  if (list.length !== shards.length)
    throw options.error('naming', `must have one entry for each of the ${shards.length} shards`)
  return list.map((entry) => {
    const naming = NAMINGS.find((n) => n === entry)
    if (naming === undefined) throw options.error('naming', "must be 'position' or 'label', or a list of them")
    return naming
  })
}

/** A pattern in the words of the original: a string, or the source of a RegExp without flags. */
export function readPattern(options: OptionReader, name: string): string | undefined {
  const value = options.value(name)
  if (value === undefined) return undefined
  if (value instanceof RegExp) {
    if (value.flags.replace(/[gu]/g, '') !== '') throw options.error(name, `must have no flags, not '${value.flags}'`)
    return value.source
  }
  if (typeof value !== 'string' || value === '') throw options.error(name, 'must be a pattern, as a string or a RegExp')
  return value
}
