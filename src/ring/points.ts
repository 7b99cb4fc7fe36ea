/**
 * The sorted points of a ring and the way to a key's point, shared by every preset that has points.
 *
 * The hash space is cut into 2^k equal buckets, about as many as there are points. `first[b]` is the first point at or
 * after the start of bucket b, so a look-up reads one entry and then steps over one point or two: its cost does not depend
 * on the number of shards. The same buckets sort the points when the ring is built (one counting pass, then tiny sorts).
 *
 * A ring whose rule is "the last point at or before the hash" is stored with all bits of points and hashes inverted, which
 * makes it a ring of the usual rule, "the first point at or after the hash". A ring whose rule is "the nearest point" is
 * stored as the borders half-way between its points, each owned by the point before it, which makes it one as well.
 */

import { BIAS, CROWDED, moveToBorders, PART_BITS, type PointList, sortPoints } from './point-sort.js'

const MIN_BITS = PART_BITS
const MAX_BITS = 20

export class PointTable {
  /** Number of points. */
  readonly size: number
  readonly wide: boolean
  readonly #shift: number
  readonly #first: Uint32Array
  /** Sorted, biased; one more than `size`, the last being the highest word, which ends every walk. */
  readonly #high: Int32Array
  readonly #low: Int32Array
  /** One more than `size`: past the last point comes the first one again. */
  readonly #owners: Uint16Array

  /** @param rule `nearest` only for hashes of 32 bits */
  constructor(list: PointList, rule: 'after' | 'nearest' = 'after') {
    const size = list.owners.length
    const bits = Math.min(MAX_BITS, Math.max(MIN_BITS, Math.ceil(Math.log2(size + 1))))
    const sorted = sortPoints(list, bits)
    if (rule === 'nearest') moveToBorders(sorted, size, 32 - bits)
    this.size = size
    this.wide = list.low !== undefined
    this.#shift = 32 - bits
    this.#first = sorted.first
    this.#high = sorted.high
    this.#low = sorted.low
    this.#owners = sorted.owners
  }

  /** Owner of a hash of 32 bits. */
  find(hash: number): number {
    const bucket = hash >>> this.#shift
    const high = this.#high
    const wanted = hash ^ BIAS
    let i = this.#first[bucket]!
    if (high[i]! < wanted) {
      const end = this.#first[bucket + 1]!
      if (end - i >= CROWDED) i = this.#skip(i, end, wanted)
      while (high[i]! < wanted) i++
    }
    return this.#owners[i]!
  }

  /** Owner of a hash of 64 bits. */
  findWide(hash: number, lowHash: number): number {
    const bucket = hash >>> this.#shift
    const high = this.#high
    const low = this.#low
    const wanted = hash ^ BIAS
    const wantedLow = lowHash ^ BIAS
    let i = this.#first[bucket]!
    const end = this.#first[bucket + 1]!
    if (end - i >= CROWDED) i = this.#skip(i, end, wanted)
    while (high[i]! < wanted || (high[i] === wanted && low[i]! < wantedLow)) i++
    return this.#owners[i]!
  }

  /** Calls back for every point in order with its place as a part of the hash space, from 0 to below 1. */
  forEach(visit: (place: number, owner: number) => void): void {
    for (let i = 0; i < this.size; i++) {
      const high = (this.#high[i]! ^ BIAS) >>> 0
      const low = this.wide ? ((this.#low[i]! ^ BIAS) >>> 0) / 0x100000000 : 0
      visit((high + low) / 0x100000000, this.#owners[i]!)
    }
  }

  /** True when two shards have a point in common. */
  isContested(): boolean {
    for (let i = 1; i < this.size; i++) {
      const equal = this.#high[i] === this.#high[i - 1] && (!this.wide || this.#low[i] === this.#low[i - 1])
      if (equal && this.#owners[i] !== this.#owners[i - 1]) return true
    }
    return false
  }

  /** A point of the crowded bucket at or before the first one that is not below `wanted`. */
  #skip(from: number, to: number, wanted: number): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#high[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}
