import { InvalidOptionsError } from '../errors.js'
import { suggestion } from '../nearest.js'

/** A shard as it is given: a name, or a name with what differs from the defaults. */
export type ShardInput =
  | string
  | {
      /** Master name, not blank, unique in the list. */
      readonly name: string
      /** How much more than others it holds; at least 0, where 0 is no keys. @default 1 (predis: 100) */
      readonly weight?: number | undefined
      /** What enters the ring in place of the name, for rings that were built of addresses. Unique. @default name */
      readonly label?: string | undefined
    }

/** A shard of a ring. */
export interface RingShard {
  readonly name: string
  readonly weight: number
  readonly label: string
}

/** A checked shard, with what presets need to know of how it was given. */
export interface GivenShard extends RingShard {
  /** True when a label was given and is not just the name by default. */
  readonly labelled: boolean
}

/** More would not fit the point table, and no build would be quick. */
const MAX_SHARDS = 65535
const FIELDS = ['name', 'weight', 'label'] as const

/** What a weight that is absent, and one of 0, stand for. */
export interface WeightRule {
  readonly absent: number
  readonly zero: number
}

/** Checks the list of shards. @throws InvalidOptionsError `masters` or `masters[i].field` */
export function readShards(input: unknown, weights: WeightRule): readonly GivenShard[] {
  if (!Array.isArray(input)) throw new InvalidOptionsError('masters', 'the shards must be given as an array')
  if (input.length === 0) throw new InvalidOptionsError('masters', 'a ring needs at least one shard')
  if (input.length > MAX_SHARDS) throw new InvalidOptionsError('masters', `a ring has at most ${MAX_SHARDS} shards`)
  const shards = Array.from(input, (shard: unknown, i) => readShard(shard, i, weights))
  refuseDuplicates(shards, 'name')
  refuseDuplicates(shards, 'label')
  if (shards.every((shard) => shard.weight === 0)) {
    throw new InvalidOptionsError('masters', 'every shard has weight 0, so no key could be placed')
  }
  return shards
}

function readShard(input: unknown, index: number, weights: WeightRule): GivenShard {
  const path = `masters[${index}]`
  if (typeof input === 'string') {
    return { name: readText(input, path), label: input, weight: weights.absent, labelled: false }
  }
  if (typeof input !== 'object' || input === null) {
    throw new InvalidOptionsError(path, `shard ${index + 1} must be a name or an object with a name`)
  }
  const unknown = Object.keys(input).find((field) => !FIELDS.some((known) => known === field))
  if (unknown !== undefined) {
    throw new InvalidOptionsError(
      `${path}.${unknown}`,
      `'${unknown}' is no field of a shard${suggestion(unknown, FIELDS)}`,
    )
  }
  const given = input as Partial<Record<(typeof FIELDS)[number], unknown>>
  const name = readText(given.name, `${path}.name`)
  const label = given.label === undefined ? name : readText(given.label, `${path}.label`)
  const weight = given.weight === undefined ? weights.absent : given.weight
  if (typeof weight !== 'number' || !Number.isFinite(weight) || weight < 0) {
    throw new InvalidOptionsError(`${path}.weight`, `the weight of '${name}' must be a number of 0 or more`)
  }
  return { name, label, weight: weight === 0 ? weights.zero : weight, labelled: given.label !== undefined }
}

function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new InvalidOptionsError(path, `${path} must be a string`)
  if (value.trim() === '') throw new InvalidOptionsError(path, `${path} must not be blank`)
  return value
}

function refuseDuplicates(shards: readonly GivenShard[], field: 'name' | 'label'): void {
  const seen = new Map<string, number>()
  for (const [i, shard] of shards.entries()) {
    const text = shard[field]
    const first = seen.get(text)
    if (first !== undefined) {
      throw new InvalidOptionsError(
        `masters[${i}].${field}`,
        `shards ${first + 1} and ${i + 1} have the same ${field} '${text}'`,
      )
    }
    seen.set(text, i)
  }
}

/** For presets whose system counts in whole weights. @throws InvalidOptionsError `masters[i].weight` */
export function requireWholeWeights(shards: readonly GivenShard[], preset: string): void {
  shards.forEach((shard, i) => {
    if (!Number.isSafeInteger(shard.weight) || shard.weight > 0x7fffffff) {
      throw new InvalidOptionsError(
        `masters[${i}].weight`,
        `the weight of '${shard.name}' must be a whole number of at most 2147483647 with the preset '${preset}'`,
      )
    }
  })
}

/** For rings in which weights say nothing. @throws InvalidOptionsError `masters[i].weight` */
export function refuseWeights(shards: readonly GivenShard[], preset: string): void {
  shards.forEach((shard, i) => {
    if (shard.weight !== 1) {
      throw new InvalidOptionsError(
        `masters[${i}].weight`,
        `the ring '${preset}' has no weights here, so that of '${shard.name}' must be 1 or absent`,
      )
    }
  })
}
