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

/** Points as they are made: unsorted, 64 bits in two words (`low` is absent for hashes of 32 bits). */
export interface PointList {
  readonly high: Int32Array
  readonly low?: Int32Array
  /** Index of the shard that owns each point. Of two equal points the one that comes first here wins. */
  readonly owners: Uint16Array
}

/** Makes signed comparison order words as unsigned ones. */
const BIAS = 0x80000000 | 0
const MIN_BITS = 8
const MAX_BITS = 20
/** Bits of the first of the two sorting passes. */
const PART_BITS = 8
/** From this many points in one bucket on, sorting and searching no longer go step by step. */
const CROWDED = 24

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

interface SortedPoints {
  readonly first: Uint32Array
  readonly high: Int32Array
  readonly low: Int32Array
  readonly owners: Uint16Array
}

/**
 * Sorts by the top `bits` in two counting passes, then within each bucket; equal points keep their order. The first pass
 * only makes parts small enough for the cache: with one pass, two million points cost three times as much.
 */
function sortPoints(list: PointList, bits: number): SortedPoints {
  const size = list.owners.length
  const wide = list.low !== undefined
  const parts = partition(list)
  const first = new Uint32Array((1 << bits) + 1)
  const high = new Int32Array(size + 1)
  const low = new Int32Array(wide ? size + 1 : 0)
  const owners = new Uint16Array(size + 1)
  const perPart = 1 << (bits - PART_BITS)
  const next = new Uint32Array(perPart)
  const shift = 32 - bits
  const mask = perPart - 1
  for (let part = 0; part < 1 << PART_BITS; part++) {
    const from = parts.starts[part]!
    const to = parts.starts[part + 1]!
    next.fill(0)
    for (let i = from; i < to; i++) next[(parts.high[i]! >>> shift) & mask]!++
    let crowded = false
    for (let b = 0, at = from; b < perPart; b++) {
      const count = next[b]!
      if (count >= CROWDED) crowded = true
      first[part * perPart + b] = at
      next[b] = at
      at += count
    }
    for (let i = from; i < to; i++) {
      const word = parts.high[i]!
      const place = next[(word >>> shift) & mask]!++
      high[place] = word ^ BIAS
      if (wide) low[place] = parts.low[i]! ^ BIAS
      owners[place] = parts.owners[i]!
    }
    if (crowded) {
      for (let b = 0; b < perPart; b++) {
        const start = first[part * perPart + b]!
        if (next[b]! - start >= CROWDED) sortCrowded(high, low, owners, start, next[b]!)
      }
    }
    // The buckets are in order already, so this sorts each of them and leaves a crowded one as it is.
    sortRange(high, low, owners, from, to)
  }
  first[1 << bits] = size
  high[size] = 0x7fffffff
  if (wide) low[size] = 0x7fffffff
  owners[size] = owners[0]!
  return { first, high, low, owners }
}

/**
 * Turns sorted points into the borders half-way to the next one; a hash on the border belongs to the point before it. What
 * lies between the last point and the first, going round, may have its border on either side of zero.
 */
function moveToBorders(sorted: SortedPoints, size: number, shift: number): void {
  const { first, high, owners } = sorted
  const lowest = high[0]!
  for (let i = 0; i + 1 < size; i++) {
    const a = high[i]!
    const b = high[i + 1]!
    // floor((a + b) / 2) without leaving 32 bits
    high[i] = (a & b) + ((a ^ b) >> 1)
  }
  const around = Math.floor((high[size - 1]! + lowest + 0x100000000) / 2)
  if (around <= 0x7fffffff) {
    high[size - 1] = around
  } else {
    const owner = owners[size - 1]!
    high.copyWithin(1, 0, size - 1)
    owners.copyWithin(1, 0, size - 1)
    high[0] = around - 0x100000000
    owners[0] = owner
    owners[size] = owner
  }
  let bucket = 0
  for (let i = 0; i < size; i++) {
    const own = (high[i]! ^ BIAS) >>> shift
    while (bucket <= own) first[bucket++] = i
  }
  first.fill(size, bucket)
}

interface Parts {
  /** Where each part begins, and at the end the number of points. */
  readonly starts: Uint32Array
  readonly high: Int32Array
  readonly low: Int32Array
  readonly owners: Uint16Array
}

function partition(list: PointList): Parts {
  const size = list.owners.length
  const starts = new Uint32Array((1 << PART_BITS) + 1)
  for (let i = 0; i < size; i++) starts[(list.high[i]! >>> (32 - PART_BITS)) + 1]!++
  for (let part = 1; part < starts.length; part++) starts[part]! += starts[part - 1]!
  const next = starts.slice()
  const high = new Int32Array(size)
  const low = new Int32Array(list.low ? size : 0)
  const owners = new Uint16Array(size)
  for (let i = 0; i < size; i++) {
    const word = list.high[i]!
    const at = next[word >>> (32 - PART_BITS)]!++
    high[at] = word
    if (list.low) low[at] = list.low[i]!
    owners[at] = list.owners[i]!
  }
  return { starts, high, low, owners }
}

/** Sorts points that are nearly in order, and keeps the order of equal ones. */
function sortRange(high: Int32Array, low: Int32Array, owners: Uint16Array, from: number, to: number): void {
  const wide = low.length > 0
  for (let i = from + 1; i < to; i++) {
    const h = high[i]!
    if (high[i - 1]! < h) continue
    const l = wide ? low[i]! : 0
    const owner = owners[i]!
    let at = i - 1
    while (at >= from && (high[at]! > h || (wide && high[at] === h && low[at]! > l))) {
      high[at + 1] = high[at]!
      if (wide) low[at + 1] = low[at]!
      owners[at + 1] = owners[at]!
      at--
    }
    high[at + 1] = h
    if (wide) low[at + 1] = l
    owners[at + 1] = owner
  }
}

/** The same for a hash that puts many points into one bucket, as a user's own may. */
function sortCrowded(high: Int32Array, low: Int32Array, owners: Uint16Array, from: number, to: number): void {
  const wide = low.length > 0
  const oldHigh = high.slice(from, to)
  const oldLow = wide ? low.slice(from, to) : low
  const oldOwners = owners.slice(from, to)
  const order = Array.from({ length: to - from }, (_, i) => i)
  order.sort((a, b) => oldHigh[a]! - oldHigh[b]! || (wide ? oldLow[a]! - oldLow[b]! : 0))
  for (const [i, old] of order.entries()) {
    high[from + i] = oldHigh[old]!
    if (wide) low[from + i] = oldLow[old]!
    owners[from + i] = oldOwners[old]!
  }
}
