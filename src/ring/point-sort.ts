/**
 * Sorts the points of a ring: a counting pass by the top 8 bits, one by the bits below, then what little is out of place. The
 * first pass only makes parts that fit the cache; without it two million points take three times as long.
 *
 * Every loop over points is a function of its own that is called for a few thousand points at a time. V8 compiles those at
 * once, while a loop that runs once over a million points spends its life half interpreted: a new process would need twice
 * the time for its first large ring.
 */

/** Points as they are made: unsorted, 64 bits in two words (`low` is absent for hashes of 32 bits). */
export interface PointList {
  readonly high: Int32Array
  readonly low?: Int32Array
  /** Index of the shard that owns each point. Of two equal points the one that comes first here wins. */
  readonly owners: Uint16Array
}

/** Points in order, biased; one entry more than points, the last being the highest word, which ends every walk. */
export interface SortedPoints extends Points {
  /** First point at or after the start of every bucket, and at the end the number of points. */
  readonly first: Uint32Array
}

interface Points {
  readonly high: Int32Array
  /** Empty for hashes of 32 bits. */
  readonly low: Int32Array
  readonly owners: Uint16Array
}

/** Makes signed comparison order words as unsigned ones. */
export const BIAS = 0x80000000 | 0
/** From this many points in one bucket on, sorting and searching no longer go step by step. */
export const CROWDED = 24
/** Bits of the first pass. */
export const PART_BITS = 8
const PARTS = 1 << PART_BITS
const CHUNK = 4096

/** Sorts into 2^bits buckets and within them; equal points keep their order. */
export function sortPoints(list: PointList, bits: number): SortedPoints {
  const size = list.owners.length
  const source: Points = { high: list.high, low: list.low ?? new Int32Array(0), owners: list.owners }
  const wide = list.low !== undefined

  const partShift = 32 - PART_BITS
  const starts = new Uint32Array(PARTS + 1)
  for (let at = 0; at < size; at += CHUNK)
    count(source.high, at, Math.min(size, at + CHUNK), partShift, PARTS - 1, starts)
  startAt(starts, PARTS, 0)
  starts[PARTS] = size
  const parts = pointsOf(size, wide)
  const ends = starts.slice()
  for (let at = 0; at < size; at += CHUNK) {
    scatter(source, at, Math.min(size, at + CHUNK), partShift, PARTS - 1, ends, parts, 0)
  }

  const sorted = pointsOf(size + 1, wide)
  const first = new Uint32Array((1 << bits) + 1)
  const perPart = 1 << (bits - PART_BITS)
  const shift = 32 - bits
  const next = new Uint32Array(perPart)
  for (let part = 0; part < PARTS; part++) {
    const from = starts[part]!
    const to = starts[part + 1]!
    next.fill(0)
    count(parts.high, from, to, shift, perPart - 1, next)
    const most = startAt(next, perPart, from)
    first.set(next, part * perPart)
    scatter(parts, from, to, shift, perPart - 1, next, sorted, BIAS)
    if (most >= CROWDED) sortCrowdedBuckets(sorted, first, part * perPart, next)
    // The buckets are in order already, so this sorts each of them and leaves a crowded one as it is.
    settle(sorted.high, sorted.low, sorted.owners, from, to)
  }
  first[1 << bits] = size
  sorted.high[size] = 0x7fffffff
  if (wide) sorted.low[size] = 0x7fffffff
  sorted.owners[size] = sorted.owners[0]!
  return { ...sorted, first }
}

function pointsOf(size: number, wide: boolean): Points {
  return { high: new Int32Array(size), low: new Int32Array(wide ? size : 0), owners: new Uint16Array(size) }
}

/** Adds the points from..to to the counts of their bins. */
function count(high: Int32Array, from: number, to: number, shift: number, mask: number, counts: Uint32Array): void {
  for (let i = from; i < to; i++) counts[(high[i]! >>> shift) & mask]!++
}

/** Turns the counts of `bins` bins into where each begins; returns the largest count. */
function startAt(counts: Uint32Array, bins: number, from: number): number {
  let at = from
  let most = 0
  for (let bin = 0; bin < bins; bin++) {
    const points = counts[bin]!
    if (points > most) most = points
    counts[bin] = at
    at += points
  }
  return most
}

/** Puts the points from..to to the next free places of their bins, which are moved on. */
function scatter(
  source: Points,
  from: number,
  to: number,
  shift: number,
  mask: number,
  next: Uint32Array,
  target: Points,
  bias: number,
): void {
  const { high, low, owners } = source
  const wide = low.length > 0
  for (let i = from; i < to; i++) {
    const word = high[i]!
    const at = next[(word >>> shift) & mask]!++
    target.high[at] = word ^ bias
    if (wide) target.low[at] = low[i]! ^ bias
    target.owners[at] = owners[i]!
  }
}

/** Sorts points that are nearly in order, and keeps the order of equal ones. */
function settle(high: Int32Array, low: Int32Array, owners: Uint16Array, from: number, to: number): void {
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

/** A hash of the user's own may put many points into one bucket, where step by step would take for ever. */
function sortCrowdedBuckets(points: Points, first: Uint32Array, bucket: number, ends: Uint32Array): void {
  for (let b = 0; b < ends.length; b++) {
    const from = first[bucket + b]!
    const to = ends[b]!
    if (to - from >= CROWDED) sortCrowded(points, from, to)
  }
}

function sortCrowded({ high, low, owners }: Points, from: number, to: number): void {
  const wide = low.length > 0
  const old = { high: high.slice(from, to), low: low.slice(from, wide ? to : 0), owners: owners.slice(from, to) }
  const order = Array.from({ length: to - from }, (_, i) => i)
  order.sort((a, b) => old.high[a]! - old.high[b]! || (wide ? old.low[a]! - old.low[b]! : 0))
  for (const [i, place] of order.entries()) {
    high[from + i] = old.high[place]!
    if (wide) low[from + i] = old.low[place]!
    owners[from + i] = old.owners[place]!
  }
}

/**
 * Turns sorted points of 32 bits into the borders half-way to the next one; a hash on the border belongs to the point before
 * it. What lies between the last point and the first, going round, may have its border on either side of zero.
 */
export function moveToBorders(points: SortedPoints, size: number, shift: number): void {
  const { first, high, owners } = points
  const around = Math.floor((high[size - 1]! + high[0]! + 0x100000000) / 2)
  for (let at = 0; at < size - 1; at += CHUNK) halve(high, at, Math.min(size - 1, at + CHUNK))
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
  for (let at = 0; at < size; at += CHUNK) bucket = index(high, at, Math.min(size, at + CHUNK), shift, first, bucket)
  first.fill(size, bucket)
}

function halve(high: Int32Array, from: number, to: number): void {
  for (let i = from; i < to; i++) {
    const a = high[i]!
    const b = high[i + 1]!
    // floor((a + b) / 2) without leaving 32 bits
    high[i] = (a & b) + ((a ^ b) >> 1)
  }
}

/** Writes the first point of every bucket up to that of the last point; returns the bucket to go on with. */
function index(high: Int32Array, from: number, to: number, shift: number, first: Uint32Array, bucket: number): number {
  let next = bucket
  for (let i = from; i < to; i++) {
    const own = (high[i]! ^ BIAS) >>> shift
    while (next <= own) first[next++] = i
  }
  return next
}
