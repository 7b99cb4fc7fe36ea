import { add, multiply, rotate, wide } from './words.js'

/** xxHash, both widths: XXH64 places the keys of go-redis 8 and 9, XXH32 is one of PHP's algorithms. Seed 0. */

const P1 = 0x9e3779b1
const P2 = 0x85ebca77
const P3 = 0xc2b2ae3d
const P4 = 0x27d4eb2f
const P5 = 0x165667b1

export function xxh32(bytes: Uint8Array, start: number, end: number): number {
  let i = start
  let h = P5
  if (end - start >= 16) {
    let a = (P1 + P2) | 0
    let b = P2
    let c = 0
    let d = -P1
    for (; i + 16 <= end; i += 16) {
      a = round32(a, word(bytes, i))
      b = round32(b, word(bytes, i + 4))
      c = round32(c, word(bytes, i + 8))
      d = round32(d, word(bytes, i + 12))
    }
    h = rotate32(a, 1) + rotate32(b, 7) + rotate32(c, 12) + rotate32(d, 18)
  }
  h = (h + (end - start)) | 0
  for (; i + 4 <= end; i += 4) h = Math.imul(rotate32((h + Math.imul(word(bytes, i), P3)) | 0, 17), P4)
  for (; i < end; i++) h = Math.imul(rotate32((h + Math.imul(bytes[i]!, P5)) | 0, 11), P1)
  h = Math.imul(h ^ (h >>> 15), P2)
  h = Math.imul(h ^ (h >>> 13), P3)
  return h ^ (h >>> 16)
}

function round32(state: number, value: number): number {
  return Math.imul(rotate32((state + Math.imul(value, P2)) | 0, 13), P1)
}

function rotate32(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

function word(bytes: Uint8Array, i: number): number {
  return bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
}

// The five primes of XXH64: high word, low word.
const Q1H = 0x9e3779b1
const Q1L = 0x85ebca87
const Q2H = 0xc2b2ae3d
const Q2L = 0x27d4eb4f
const Q3H = 0x165667b1
const Q3L = 0x9e3779f9
const Q4H = 0x85ebca77
const Q4L = 0xc2b2ae63
const Q5H = 0x27d4eb2f
const Q5L = 0x165667c5

/** The four lanes of long inputs: high words at even places, low words at odd ones. */
const lanes = new Int32Array(8)

/** Returns the high word and leaves the low one in `wide`. */
export function xxh64(bytes: Uint8Array, start: number, end: number): number {
  let i = start
  let high = Q5H
  let low = Q5L
  if (end - start >= 32) {
    lanes[0] = add(Q1H, Q1L, Q2H, Q2L)
    lanes[1] = wide.low
    lanes[2] = Q2H
    lanes[3] = Q2L
    lanes[4] = 0
    lanes[5] = 0
    lanes[6] = ~Q1H
    lanes[7] = -Q1L
    for (; i + 32 <= end; i += 32) {
      for (let lane = 0; lane < 4; lane++) {
        lanes[lane * 2] = round64(lanes[lane * 2]!, lanes[lane * 2 + 1]!, bytes, i + lane * 8)
        lanes[lane * 2 + 1] = wide.low
      }
    }
    high = mergeLanes()
    low = wide.low
  }
  high = add(high, low, 0, end - start)
  low = wide.low
  for (; i + 8 <= end; i += 8) {
    const k = round64(0, 0, bytes, i)
    high = rotate(high ^ k, low ^ wide.low, 27)
    high = multiply(high, wide.low, Q1H, Q1L)
    high = add(high, wide.low, Q4H, Q4L)
    low = wide.low
  }
  if (i + 4 <= end) {
    const k = multiply(0, word(bytes, i), Q1H, Q1L)
    high = rotate(high ^ k, low ^ wide.low, 23)
    high = multiply(high, wide.low, Q2H, Q2L)
    high = add(high, wide.low, Q3H, Q3L)
    low = wide.low
    i += 4
  }
  for (; i < end; i++) {
    const k = multiply(0, bytes[i]!, Q5H, Q5L)
    high = rotate(high ^ k, low ^ wide.low, 11)
    high = multiply(high, wide.low, Q1H, Q1L)
    low = wide.low
  }
  // h ^= h >>> 33; h *= p2; h ^= h >>> 29; h *= p3; h ^= h >>> 32
  low ^= high >>> 1
  high = multiply(high, low, Q2H, Q2L)
  low = wide.low
  low ^= (low >>> 29) | (high << 3)
  high ^= high >>> 29
  high = multiply(high, low, Q3H, Q3L)
  wide.low ^= high
  return high
}

/** rotl(state + input * p2, 31) * p1, where the input are the eight bytes at `i`. */
function round64(high: number, low: number, bytes: Uint8Array, i: number): number {
  const k = multiply(word(bytes, i + 4), word(bytes, i), Q2H, Q2L)
  const sum = add(high, low, k, wide.low)
  const turned = rotate(sum, wide.low, 31)
  return multiply(turned, wide.low, Q1H, Q1L)
}

const TURNS = [1, 7, 12, 18]

function mergeLanes(): number {
  let high = 0
  let low = 0
  for (let lane = 0; lane < 4; lane++) {
    const turned = rotate(lanes[lane * 2]!, lanes[lane * 2 + 1]!, TURNS[lane]!)
    high = add(high, low, turned, wide.low)
    low = wide.low
  }
  for (let lane = 0; lane < 4; lane++) {
    let k = multiply(lanes[lane * 2]!, lanes[lane * 2 + 1]!, Q2H, Q2L)
    k = rotate(k, wide.low, 31)
    k = multiply(k, wide.low, Q1H, Q1L)
    high = multiply(high ^ k, low ^ wide.low, Q1H, Q1L)
    high = add(high, wide.low, Q4H, Q4L)
    low = wide.low
  }
  wide.low = low
  return high
}
