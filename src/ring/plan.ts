import { InvalidOptionsError } from '../errors.js'
import { suggestion } from '../nearest.js'
import type { KeySpace, Remainders, Segments } from './key-space.js'
import { remainderShare, sharesOf } from './key-space.js'
import type { Ring } from './ring.js'

/** What moves from one shard to another. Shards are matched by name, whatever their places in the two lists. */
export interface Move {
  readonly from: string
  readonly to: string
  /** Part of the whole, from 0 to 1: of the hash space, or of the keys that were given. */
  readonly share: number
  /** Number of the given keys; undefined without keys. */
  readonly keys: number | undefined
}

/** What one shard has before and after. */
export interface ShardChange {
  readonly name: string
  /** Parts of the whole, from 0 to 1; 0 where the shard is in one ring only. */
  readonly before: number
  readonly after: number
}

/** What moves when one ring is replaced by another: the answer of `planRing`. */
export interface RingPlan {
  /**
   * What the numbers are of. `'hash-space'`: exact parts of the hash space, since both rings hash a key alike. `'keys'`: the
   * keys that were given. `'expected'`: the rings hash keys differently (or one is a rendezvous), so the parts are what even
   * and independent hashes come to.
   */
  readonly basis: 'hash-space' | 'keys' | 'expected'
  /** Part of the whole that changes its shard, from 0 to 1. */
  readonly moved: number
  /** Number of keys that were given; undefined without keys. */
  readonly keys: number | undefined
  /** The largest first. Nothing that stays is in it. */
  readonly moves: readonly Move[]
  /** Every shard of either ring: those of `from` in their order, then the new ones. */
  readonly shards: readonly ShardChange[]
}

/** What `planRing` takes besides the rings. */
export interface PlanOptions {
  /** Keys to count by, in place of the hash space; read once. Their number must be at least 1. */
  readonly keys?: Iterable<string | Uint8Array> | undefined
}

/**
 * Which part of the keys moves between which shards when a ring is replaced by another, before anything is done.
 *
 * @example
 * const plan = planRing(createRing({ shards: ['a', 'b'] }), createRing({ shards: ['a', 'b', 'c'] }))
 * plan.moves // [{ from: 'a', to: 'c', share: 0.17 }, { from: 'b', to: 'c', share: 0.16 }]
 *
 * @throws InvalidOptionsError `from` and `to`, when they are no rings; `keys`, when there are none, or where a ring is a
 * function and keys are the only way to know
 * @throws InvalidKeyError when one of the keys is neither a string nor bytes
 */
export function planRing(from: Ring, to: Ring, options: PlanOptions = {}): RingPlan {
  assertRing('from', from)
  assertRing('to', to)
  const keys = readKeys(options)
  const flows = new Flows(from, to)
  if (keys !== undefined) {
    let count = 0
    for (const key of keys) {
      flows.add(from.locate(key), to.locate(key), 1)
      count++
    }
    if (count === 0) throw new InvalidOptionsError('keys', 'planRing was given keys to count by, and there are none')
    return flows.plan('keys', count)
  }
  return flows.plan(addSpaces(flows, from, to), undefined)
}

function assertRing(name: string, ring: Partial<Ring> | null | undefined): void {
  if (typeof ring?.locate === 'function' && Array.isArray(ring.shards) && 'keySpace' in ring) return
  throw new InvalidOptionsError(name, `planRing wants two rings made by createRing; '${name}' is none`)
}

function readKeys(options: PlanOptions): PlanOptions['keys'] {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionsError('options', 'the options of planRing must be an object')
  }
  for (const [name, value] of Object.entries(options)) {
    if (name === 'keys' || value === undefined) continue
    throw new InvalidOptionsError(name, `planRing has no option '${name}'${suggestion(name, ['keys'])}`)
  }
  const keys: unknown = options.keys
  // Text and bytes are iterable too: by letter, and that is never what was meant.
  const isMany = Object(keys) === keys && !(keys instanceof Uint8Array) && Symbol.iterator in (keys as object)
  if (keys === undefined || isMany) return options.keys
  throw new InvalidOptionsError('keys', "'keys' of planRing must be a list, or another iterable, of keys")
}

function addSpaces(flows: Flows, from: Ring, to: Ring): 'hash-space' | 'expected' {
  const before = from.keySpace
  const after = to.keySpace
  if (before.hash === after.hash) {
    if (before.kind === 'segments' && after.kind === 'segments') {
      addSegments(flows, before, after)
      return 'hash-space'
    }
    if (before.kind === 'remainders' && after.kind === 'remainders' && addRemainders(flows, before, after)) {
      return 'hash-space'
    }
    // A rendezvous takes from every shard what the new ones win, and gives back what the removed ones had.
    if (before.kind === 'shares' && after.kind === 'shares' && before.shares && after.shares) {
      addRendezvous(flows, from, to)
      return 'expected'
    }
  }
  const fromShares = knownShares(before, from)
  const toShares = knownShares(after, to)
  for (const [i, a] of fromShares.entries()) for (const [j, b] of toShares.entries()) flows.add(i, j, a * b)
  return 'expected'
}

function knownShares(space: KeySpace, ring: Ring): readonly number[] {
  const shares = sharesOf(space, ring.shards.length)
  if (shares !== undefined) return shares
  throw new InvalidOptionsError('keys', 'one of the rings is a function; planRing can only count by `keys` then')
}

function addSegments(flows: Flows, before: Segments, after: Segments): void {
  let place = 0
  let i = 0
  let j = 0
  while (i < before.ends.length && j < after.ends.length) {
    const a = before.ends[i]!
    const b = after.ends[j]!
    const end = Math.min(a, b)
    flows.add(before.owners[i]!, after.owners[j]!, end - place)
    place = end
    if (a === end) i++
    if (b === end) j++
  }
}

/** Past this many pairs of remainders the exact walk is not worth its time. */
const MAX_PAIRS = 4_194_304

/** The two remainders of a hash are known together from the one by the least common multiple. */
function addRemainders(flows: Flows, before: Remainders, after: Remainders): boolean {
  const a = before.owners.length
  const b = after.owners.length
  const common = (a / divisor(a, b)) * b
  if (common > MAX_PAIRS) return false
  for (let i = 0; i < common; i++) {
    flows.add(before.owners[i % a]!, after.owners[i % b]!, remainderShare(i, common))
  }
  return true
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}

/**
 * With `n` shards in either ring every one is the best of all for 1/n of the keys. Such a key stays when the best is in both
 * rings; when it is only new, the key comes from an even choice of the old ones, and the other way round.
 */
function addRendezvous(flows: Flows, from: Ring, to: Ring): void {
  const oldNames = from.shards.map((shard) => shard.label)
  const newNames = to.shards.map((shard) => shard.label)
  const union = new Set([...oldNames, ...newNames])
  for (const label of union) {
    const i = oldNames.indexOf(label)
    const j = newNames.indexOf(label)
    if (i >= 0 && j >= 0) flows.add(i, j, 1 / union.size)
    else if (j >= 0)
      oldNames.forEach((_, k) => {
        flows.add(k, j, 1 / union.size / oldNames.length)
      })
    else
      newNames.forEach((_, k) => {
        flows.add(i, k, 1 / union.size / newNames.length)
      })
  }
}

/** What goes from each shard of one ring to each of the other, summed up as it is found. */
class Flows {
  readonly #from: Ring
  readonly #to: Ring
  readonly #amounts = new Map<number, number>()

  constructor(from: Ring, to: Ring) {
    this.#from = from
    this.#to = to
  }

  add(from: number, to: number, amount: number): void {
    const pair = from * this.#to.shards.length + to
    this.#amounts.set(pair, (this.#amounts.get(pair) ?? 0) + amount)
  }

  plan(basis: RingPlan['basis'], keys: number | undefined): RingPlan {
    const whole = keys ?? 1
    const changes = new Map<string, { name: string; before: number; after: number }>()
    for (const { name } of [...this.#from.shards, ...this.#to.shards]) changes.set(name, { name, before: 0, after: 0 })
    const moves: Move[] = []
    for (const [pair, amount] of this.#amounts) {
      const from = this.#from.shards[Math.floor(pair / this.#to.shards.length)]!.name
      const to = this.#to.shards[pair % this.#to.shards.length]!.name
      const share = amount / whole
      changes.get(from)!.before += share
      changes.get(to)!.after += share
      if (from !== to && amount > 0) moves.push({ from, to, share, keys: keys === undefined ? undefined : amount })
    }
    moves.sort((a, b) => b.share - a.share)
    const moved = moves.reduce((sum, move) => sum + move.share, 0)
    return { basis, moved, keys, moves, shards: [...changes.values()] }
  }
}
