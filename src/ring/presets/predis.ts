import { crc32 } from '../hashes/crc.js'
import { md5 } from '../hashes/md5.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { hashText, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard, WeightRule } from '../shards.js'
import { requireWholeWeights } from '../shards.js'
import { bracesTag } from '../tags.js'
import { addMd5Points } from './md5-points.js'

/* Predis 1 to 3, client-side clustering: Cluster/Distributor/HashRing.php (default) and KetamaRing.php. */

/** Predis casts a weight to a whole number and takes 0 for "none given". */
export const predisWeights: WeightRule = { absent: 100, zero: 100 }

export function placePredis(shards: readonly GivenShard[], options: OptionReader): Placement {
  const distributor = options.oneOf('distributor', ['hashring', 'ketama'], 'hashring')
  return distributor === 'ketama' ? placeKetamaRing(shards, options) : placeHashRing(shards, options)
}

function placeHashRing(shards: readonly GivenShard[], options: OptionReader): Placement {
  const replicas = options.integer('replicas', 128, 1, 65536)
  options.finish()
  requireWholeWeights(shards, 'predis')
  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  const points = new PointCollector()
  for (const [i, { label, weight }] of shards.entries()) {
    const labels = phpRound((weight / total) * shards.length * replicas)
    for (let n = 0; n < labels; n++) points.add(i, hashText(crc32, `${label}:${n}`))
  }
  return pointRing({
    rule: bracesTag,
    hashId: 'crc32',
    hash: crc32,
    points: points.list('later'),
    direction: 'floor',
    facts: `predis hashring replicas=${replicas}`,
    ordered: false,
    shardCount: shards.length,
  })
}

function placeKetamaRing(shards: readonly GivenShard[], options: OptionReader): Placement {
  options.finish()
  requireWholeWeights(shards, 'predis')
  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  const points = new PointCollector()
  for (const [i, { label, weight }] of shards.entries()) {
    const labels = Math.floor((weight / total) * shards.length * 40)
    for (let n = 0; n < labels; n++) addMd5Points(points, i, `${label}-${n}`)
  }
  return pointRing({
    rule: bracesTag,
    hashId: 'md5',
    hash: md5,
    points: points.list('later'),
    facts: 'predis ketama',
    ordered: false,
    shardCount: shards.length,
  })
}

/** PHP's round() up to 8.3 first rounds to 15 significant digits, so that 0.4999999999999999 is a half. */
function phpRound(value: number): number {
  return Math.floor(Number(value.toPrecision(15)) + 0.5)
}
