import { InvalidKeyError, InvalidOptionsError } from '../errors.js'
import type { KeySpace } from './key-space.js'
import { sharesOf } from './key-space.js'
import { OptionReader } from './option-reader.js'
import type { RingOptions } from './options.js'
import type { Placement } from './placement.js'
import { findPreset } from './presets/index.js'
import type { GivenShard, RingShard, WeightRule } from './shards.js'
import { readShards } from './shards.js'

/** One shard in the answer of `ring.describe()`. */
export interface ShardPicture extends RingShard {
  /** Part of the hash space it owns, from 0 to 1; undefined for a ring that is a function of the user. */
  readonly share: number | undefined
  /** Its points on the ring; for the preset `slots` its slots, for a list (`modula`) its entries; 0 where there is no such thing. */
  readonly points: number
}

/** What a ring is, as plain data. */
export interface RingPicture {
  readonly preset: string
  readonly shards: readonly ShardPicture[]
  /** Sum of the points of all shards. */
  readonly points: number
  /**
   * `'hash-space'`: the shares are exact over the whole hash space. `'expected'`: what is to be expected of an even hash
   * (rendezvous). `'unknown'`: the ring is a function.
   */
  readonly shares: 'hash-space' | 'expected' | 'unknown'
  /**
   * A stable text of everything that decides placement: preset, its options, and labels and weights in list order (sorted
   * by label where the order plays no part). Two pools may share data exactly when their fingerprints are equal. Names that
   * differ from labels and addresses are not in it.
   */
  readonly fingerprint: string
}

/** Where every key lives. Made by `createRing`; never changes, does no I/O. */
export interface Ring {
  /** Name of the preset; `'own'` for a ring of your own, `'function'` for a plain function. */
  readonly preset: string
  /** The shards in the order in which they were given. */
  readonly shards: readonly RingShard[]
  /**
   * Index into `shards` of the shard that owns `key`. A string is treated as its UTF-8 bytes, so a string and the same
   * bytes live on the same shard (but for the presets whose original sees it differently).
   * @throws InvalidKeyError when the key is neither a string nor bytes
   */
  locate(key: string | Uint8Array): number
  /** What the ring is: shares, points, fingerprint. The first call walks over the points, the others give its answer again. */
  describe(): RingPicture
  /** How the hash space is divided; read by `planRing`, its shape may change in any version. */
  readonly keySpace: KeySpace
}

/**
 * Makes the ring that places every key.
 *
 * @example
 * const ring = createRing({ shards: ['cache-a', 'cache-b', { name: 'cache-c', weight: 2 }] })
 * ring.shards[ring.locate('user:1')].name
 *
 * @throws InvalidOptionsError naming the option: `masters…` for the shards, `ring…` for everything else
 */
export function createRing(options: RingOptions): Ring {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionsError('ring', 'createRing wants an object with `shards`')
  }
  const { shards: input, ring: choice, ...flat } = options as { shards?: unknown; ring?: unknown }
  const given = chooseOptions(choice, flat)
  const preset = findPreset(given)
  const shards = readShards(input, preset.weights ?? PLAIN_WEIGHTS)
  const { preset: _, ...presetOptions } = given
  return new PlacedRing(preset.name, shards, preset.place(shards, new OptionReader(preset.name, presetOptions)))
}

const PLAIN_WEIGHTS: WeightRule = { absent: 1, zero: 0 }

/** The options of the ring may lie beside `shards` or, as in the options of the pool, under `ring`; not both. */
function chooseOptions(choice: unknown, flat: Record<string, unknown>): Record<string, unknown> {
  if (choice === undefined) return flat
  const other = Object.keys(flat).find((name) => flat[name] !== undefined)
  if (other !== undefined) {
    throw new InvalidOptionsError(`ring.${other}`, `'${other}' is given beside 'ring'; put it into 'ring'`)
  }
  if (typeof choice === 'function') return { locate: choice }
  if (typeof choice === 'object' && choice !== null && !Array.isArray(choice)) return { ...choice }
  throw new InvalidOptionsError('ring', "'ring' must be an object with the options of a preset, or a function")
}

class PlacedRing implements Ring {
  readonly preset: string
  readonly shards: readonly RingShard[]
  readonly #placement: Placement
  #picture: RingPicture | undefined

  constructor(preset: string, shards: readonly GivenShard[], placement: Placement) {
    this.preset = preset
    this.shards = Object.freeze(shards.map(({ name, weight, label }) => Object.freeze({ name, weight, label })))
    this.#placement = placement
  }

  get keySpace(): KeySpace {
    return this.#placement.space()
  }

  locate(key: string | Uint8Array): number {
    if (typeof key === 'string') return this.#placement.locateText(key)
    if (isBytes(key)) return this.#placement.locateBytes(key)
    throw new InvalidKeyError(key)
  }

  describe(): RingPicture {
    this.#picture ??= this.#draw()
    return this.#picture
  }

  #draw(): RingPicture {
    const { points } = this.#placement
    const space = this.#placement.space()
    const shares = sharesOf(space, this.shards.length)
    const parts = this.shards.map((shard, i) => ({ ...shard, share: shares?.[i], points: points[i] ?? 0 }))
    return Object.freeze({
      preset: this.preset,
      shards: Object.freeze(parts.map((part) => Object.freeze(part))),
      points: points.reduce((sum, count) => sum + count, 0),
      shares: shares === undefined ? 'unknown' : space.kind === 'shares' ? 'expected' : 'hash-space',
      fingerprint: this.#fingerprint(),
    })
  }

  #fingerprint(): string {
    const { facts, ordered } = this.#placement
    const shards = this.shards.slice()
    if (!ordered) shards.sort((a, b) => (a.label < b.label ? -1 : 1))
    const list = shards.map((shard) => `${JSON.stringify(shard.label)}*${shard.weight}`).join(' ')
    return `${facts} ${ordered ? 'in this order' : 'in any order'}: ${list}`
  }
}

/** True also for bytes of another realm (a test runner's, a vm's), which `instanceof` does not know. */
function isBytes(key: unknown): key is Uint8Array {
  return key instanceof Uint8Array || Object.prototype.toString.call(key) === '[object Uint8Array]'
}
