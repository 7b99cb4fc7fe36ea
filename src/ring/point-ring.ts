import { InvalidOptionsError } from '../errors.js'
import { wide } from './hashes/words.js'
import { encodeText, type LoneSurrogate, span } from './key-bytes.js'
import type { KeySpace, Segments } from './key-space.js'
import type { Placement } from './placement.js'
import type { PointList } from './point-sort.js'
import { PointTable } from './points.js'
import type { KeyRule } from './tags.js'

/** A hash of `bytes[start..end)`: 32 bits as a signed integer. Of 64 bits it is the high word, the low one is in `wide`. */
export type ByteHash = (bytes: Uint8Array, start: number, end: number) => number

/** The hash of a text's UTF-8. */
export function hashText(hash: ByteHash, text: string, lone?: LoneSurrogate): number {
  encodeText(text, lone)
  return hash(span.bytes, span.start, span.end)
}

/** Enough for any ring that exists; a weight written in millions would only fill the memory. */
const MAX_POINTS = 4_194_304

/** Gathers the points of all shards in list order. */
export class PointCollector {
  readonly #high: number[] = []
  readonly #low: number[] = []
  readonly #owners: number[] = []

  add(owner: number, high: number, low?: number): void {
    if (this.#owners.length >= MAX_POINTS) {
      throw new InvalidOptionsError(
        'masters',
        `the ring would have more than ${MAX_POINTS} points; use smaller weights`,
      )
    }
    this.#high.push(high)
    if (low !== undefined) this.#low.push(low)
    this.#owners.push(owner)
  }

  /** @param winner which of two equal points is kept: a sorted list keeps the earlier, a map the later one */
  list(winner: 'earlier' | 'later'): PointList {
    const high = Int32Array.from(this.#high)
    const low = Int32Array.from(this.#low)
    const owners = Uint16Array.from(this.#owners)
    if (winner === 'later') for (const array of [high, low, owners]) array.reverse()
    return low.length > 0 ? { high, low, owners } : { high, owners }
  }
}

export interface PointRing {
  readonly rule: KeyRule
  /** Name of `hash` in fingerprints. */
  readonly hashId: string
  readonly hash: ByteHash
  readonly points: PointList
  /** `ceil`: the first point at or after the hash. `floor`: the last at or before it; 32 bits only. Both go round. */
  readonly direction?: 'ceil' | 'floor'
  readonly facts: string
  /** True where the place of a shard in the list enters its points. */
  readonly ordered: boolean
  readonly shardCount: number
}

/** The placement of a ring of points. */
export function pointRing(ring: PointRing): Placement {
  const { rule, hash } = ring
  const inverted = ring.direction === 'floor'
  const table = new PointTable(inverted ? invert(ring.points) : ring.points)
  const flip = inverted ? -1 : 0
  const find = table.wide
    ? (): number => {
        const high = hash(span.bytes, span.start, span.end)
        return table.findWide(high, wide.low)
      }
    : (): number => table.find(hash(span.bytes, span.start, span.end) ^ flip)
  return {
    locateText(key) {
      rule.text(key)
      return find()
    },
    locateBytes(key) {
      rule.bytes(key)
      return find()
    },
    space: () => segmentsOf(table, `${ring.hashId} of ${rule.id}`, inverted),
    points: countPoints(ring.points.owners, ring.shardCount),
    facts: ring.facts,
    // Where two shards have one point in common, the order of the list decides which of them keeps it.
    get ordered() {
      return ring.ordered || table.isContested()
    },
  }
}

function invert(points: PointList): PointList {
  return { high: points.high.map((word) => ~word), owners: points.owners }
}

export function countPoints(owners: Uint16Array, count: number): number[] {
  const points = new Array<number>(count).fill(0)
  for (const owner of owners) points[owner]!++
  return points
}

/** The parts of the hash space that the points cut, in the order of the hashes themselves. */
export function segmentsOf(table: PointTable, hash: string, inverted = false): KeySpace {
  const step = table.wide ? 2 ** -64 : 2 ** -32
  const ends: number[] = []
  const owners: number[] = []
  let last = -1
  let first = -1
  table.forEach((place, owner) => {
    if (first < 0) first = owner
    // Of equal points only the first one is ever found.
    if (place === last) return
    last = place
    // Neighbours of one owner are one part.
    if (owners.at(-1) === owner) ends.pop()
    else owners.push(owner)
    ends.push(place + step)
  })
  if (first >= 0 && ends.at(-1)! < 1) {
    if (owners.at(-1) === first) ends.pop()
    else owners.push(first)
    ends.push(1)
  }
  return inverted ? mirrored(hash, ends, owners) : segments(hash, ends, owners)
}

function mirrored(hash: string, ends: number[], owners: number[]): Segments {
  const starts = ends.map((_, i) => (i === 0 ? 0 : ends[i - 1]!))
  return segments(hash, starts.map((start) => 1 - start).reverse(), owners.slice().reverse())
}

function segments(hash: string, ends: number[], owners: number[]): Segments {
  return { kind: 'segments', hash, ends: Float64Array.from(ends), owners: Uint16Array.from(owners) }
}
