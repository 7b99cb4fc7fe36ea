/**
 * MurmurHash3 x86 32, the hash of the default ring. murmurhash3js-revisited is the reference (the property tests compare
 * with it); it is not used here because it wants bytes, so every string key would first be copied into a new array.
 *
 * Every hash of this folder returns the 32 bits as a signed integer: V8 keeps those out of the heap, where an unsigned
 * number past 2^31 would be allocated on each call that is not inlined.
 */

const C1 = 0xcc9e2d51 | 0
const C2 = 0x1b873593

/** Hash of `bytes[start..end)`. */
export function murmur3(bytes: Uint8Array, start: number, end: number, seed: number): number {
  return finish(bytes, start, start, end, seed | 0)
}

/**
 * Hashes of `<prefix>0`, `<prefix>1`, … `<prefix><count - 1>` into `out` from `at` on. The blocks of the prefix are mixed
 * once and the digits are counted up in place, because a ring of 1,000 shards asks for two million of these.
 */
export function murmur3Series(prefix: Uint8Array, count: number, seed: number, out: Int32Array, at: number): void {
  const whole = prefix.length & ~3
  let state = seed | 0
  for (let i = 0; i < whole; i += 4) state = mixBlock(state, word(prefix, i))
  // Only what follows the whole blocks is kept: up to three bytes of prefix, then at most ten digits.
  const rest = prefix.length - whole
  const bytes = new Uint8Array(rest + 10)
  bytes.set(prefix.subarray(whole))
  let end = rest + 1
  bytes[rest] = 0x30
  for (let n = 0; n < count; n++) {
    out[at + n] = finish(bytes, 0, -whole, end, state)
    let digit = end - 1
    while (digit >= rest && bytes[digit] === 0x39) bytes[digit--] = 0x30
    if (digit >= rest) {
      bytes[digit]!++
    } else {
      bytes[rest] = 0x31
      bytes[end++] = 0x30
    }
  }
}

/** Mixes `bytes[from..end)` into `state` and ends the hash; `origin` is where the hashed text began, for its length. */
function finish(bytes: Uint8Array, from: number, origin: number, end: number, state: number): number {
  let h = state
  let i = from
  for (; i + 4 <= end; i += 4) h = mixBlock(h, word(bytes, i))
  if (i < end) {
    let tail = bytes[i]!
    if (i + 1 < end) tail |= bytes[i + 1]! << 8
    if (i + 2 < end) tail |= bytes[i + 2]! << 16
    h ^= mixWord(tail)
  }
  return murmur3End(h, end - origin)
}

function word(bytes: Uint8Array, i: number): number {
  return bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
}

/** What one word of input (a block, or the tail) becomes before it meets the state. */
export function mixWord(value: number): number {
  const k = Math.imul(value, C1)
  return Math.imul((k << 15) | (k >>> 17), C2)
}

/** The state after one block of four bytes. */
export function mixBlock(state: number, value: number): number {
  const h = state ^ mixWord(value)
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
}

/** Ends a hash over `length` bytes. */
export function murmur3End(state: number, length: number): number {
  let h = state ^ length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
