import { multiply, wide } from './words.js'

/** MurmurHash64A, the hash of Jedis. Returns the high word and leaves the low one in `wide`. */

const M_HIGH = 0xc6a4a793
const M_LOW = 0x5bd1e995
const SHIFT = 47 - 32

export function murmur64a(bytes: Uint8Array, start: number, end: number, seed: number): number {
  const length = end - start
  // seed is one word, so the product length * m meets it in the low word only.
  let high = multiply(0, length, M_HIGH, M_LOW)
  let low = wide.low ^ seed
  let i = start
  for (; i + 8 <= end; i += 8) {
    let kHigh = multiply(word(bytes, i + 4), word(bytes, i), M_HIGH, M_LOW)
    let kLow = wide.low
    kLow ^= kHigh >>> SHIFT
    kHigh = multiply(kHigh, kLow, M_HIGH, M_LOW)
    kLow = wide.low
    high = multiply(high ^ kHigh, low ^ kLow, M_HIGH, M_LOW)
    low = wide.low
  }
  if (i < end) {
    for (let shift = 0; i < end; i++, shift += 8) {
      if (shift < 32) low ^= bytes[i]! << shift
      else high ^= bytes[i]! << (shift - 32)
    }
    high = multiply(high, low, M_HIGH, M_LOW)
    low = wide.low
  }
  low ^= high >>> SHIFT
  high = multiply(high, low, M_HIGH, M_LOW)
  low = wide.low
  wide.low = low ^ (high >>> SHIFT)
  return high
}

function word(bytes: Uint8Array, i: number): number {
  return bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
}
