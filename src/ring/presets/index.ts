import { InvalidOptionsError } from '../../errors.js'
import { suggestion } from '../../nearest.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import type { GivenShard, WeightRule } from '../shards.js'
import { placeGoRedis } from './go-redis.js'
import { placeHashring } from './hashring.js'
import { placeJedis, placeJedisLegacy, placeJedisMd5 } from './jedis.js'
import { placeMurmur3 } from './murmur3.js'
import { placeFunction, placeOwn } from './own.js'
import { placePhpredis } from './phpredis.js'
import { placePredis, predisWeights } from './predis.js'
import { placeRedisRb } from './redis-rb.js'
import { placeSlots } from './slots.js'
import { placeKetama, placeModula, placeTwemproxy } from './twemproxy.js'

/** One row of the list of presets. */
export interface Preset {
  readonly name: string
  /** @default 1 for a weight that is absent, 0 for 0 */
  readonly weights?: WeightRule
  place(shards: readonly GivenShard[], options: OptionReader): Placement
}

const PRESETS: readonly Preset[] = [
  { name: 'murmur3', place: placeMurmur3 },
  { name: 'jedis', place: placeJedis },
  { name: 'jedis-md5', place: placeJedisMd5 },
  { name: 'jedis-legacy', place: placeJedisLegacy },
  { name: 'hashring', place: placeHashring },
  { name: 'twemproxy', place: placeTwemproxy },
  { name: 'ketama', place: placeKetama },
  { name: 'modula', place: placeModula },
  { name: 'predis', place: placePredis, weights: predisWeights },
  { name: 'redis-rb', place: placeRedisRb },
  { name: 'go-redis', place: placeGoRedis },
  { name: 'phpredis', place: placePhpredis },
  { name: 'slots', place: placeSlots },
]

const OWN: Preset = { name: 'own', place: placeOwn }
const FUNCTION: Preset = { name: 'function', place: placeFunction }

/** The preset that the options ask for; those that carry a `hash` function and no preset are a ring of the user's own. */
export function findPreset(options: Readonly<Record<string, unknown>>): Preset {
  if (options.preset === undefined) {
    if (typeof options.locate === 'function') return FUNCTION
    if (options.hash !== undefined || options.pointsPerShard !== undefined) return OWN
    return PRESETS[0]!
  }
  const preset = PRESETS.find((p) => p.name === options.preset)
  if (preset !== undefined) return preset
  const names = PRESETS.map((p) => p.name)
  if (typeof options.preset !== 'string') {
    throw new InvalidOptionsError('ring.preset', `ring.preset must be one of ${names.join(', ')}`)
  }
  throw new InvalidOptionsError(
    'ring.preset',
    `there is no preset '${options.preset}'${suggestion(options.preset, names)}`,
  )
}
