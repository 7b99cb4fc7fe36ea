/** Arithmetic on 64-bit numbers in two 32-bit words: BigInt allocates, and these run for every key. */

/** The low word of the last 64-bit result; functions of 64 bits return the high word and leave the low one here. */
export const wide = { low: 0 }

/** High word of a * b, both unsigned words. */
export function multiplyHigh(a: number, b: number): number {
  const a0 = a & 0xffff
  const a1 = a >>> 16
  const b0 = b & 0xffff
  const b1 = b >>> 16
  const low = Math.imul(a0, b0) >>> 0
  const middle = (Math.imul(a1, b0) >>> 0) + (low >>> 16)
  const other = (Math.imul(a0, b1) >>> 0) + (middle & 0xffff)
  // `middle` may pass 2^32 - 1 only in exact double arithmetic, so it is shifted by division.
  return ((Math.imul(a1, b1) >>> 0) + Math.floor(middle / 0x10000) + Math.floor(other / 0x10000)) | 0
}

/** a * b modulo 2^64. */
export function multiply(aHigh: number, aLow: number, bHigh: number, bLow: number): number {
  wide.low = Math.imul(aLow, bLow)
  return (multiplyHigh(aLow, bLow) + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0
}

/** a + b modulo 2^64. */
export function add(aHigh: number, aLow: number, bHigh: number, bLow: number): number {
  const low = (aLow + bLow) | 0
  wide.low = low
  return (aHigh + bHigh + (low >>> 0 < aLow >>> 0 ? 1 : 0)) | 0
}

/** a rotated left by 1 to 31 bits. */
export function rotate(high: number, low: number, bits: number): number {
  wide.low = (low << bits) | (high >>> (32 - bits))
  return (high << bits) | (low >>> (32 - bits))
}
