import { InvalidOptionsError } from '../../errors.js'
import { suggestion } from '../nearest.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import type { GivenShard } from '../shards.js'
import { placeMurmur3 } from './murmur3.js'

/** One row of the list of presets. */
export interface Preset {
  readonly name: string
  /** Weight of a shard that gives none. @default 1 */
  readonly defaultWeight?: number
  place(shards: readonly GivenShard[], options: OptionReader): Placement
}

const PRESETS: readonly Preset[] = [{ name: 'murmur3', place: placeMurmur3 }]

/** The preset that the options ask for. @throws InvalidOptionsError `ring.preset` */
export function findPreset(options: Readonly<Record<string, unknown>>): Preset {
  const wanted = options.preset ?? 'murmur3'
  const preset = PRESETS.find((p) => p.name === wanted)
  if (preset !== undefined) return preset
  const names = PRESETS.map((p) => p.name)
  if (typeof wanted !== 'string') {
    throw new InvalidOptionsError('ring.preset', `ring.preset must be one of ${names.join(', ')}`)
  }
  throw new InvalidOptionsError('ring.preset', `there is no preset '${wanted}'${suggestion(wanted, names)}`)
}
