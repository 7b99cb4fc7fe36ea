import { multiply, wide } from './words.js'

/**
 * The FNV family as twemproxy has it, with C's signed `char`: a byte from 0x80 on is widened with ones before it is mixed
 * in. FNV-1a of 32 bits is also one of PHP's algorithms, there with unsigned bytes.
 */

const PRIME = 0x01000193
const OFFSET = 0x811c9dc5

/** A byte as a signed `char`. */
export function signed(byte: number): number {
  return (byte << 24) >> 24
}

export function fnv1a32(bytes: Uint8Array, start: number, end: number): number {
  let h = OFFSET | 0
  for (let i = start; i < end; i++) h = Math.imul(h ^ bytes[i]!, PRIME)
  return h
}

export function fnv1a32Signed(bytes: Uint8Array, start: number, end: number): number {
  let h = OFFSET | 0
  for (let i = start; i < end; i++) h = Math.imul(h ^ signed(bytes[i]!), PRIME)
  return h
}

export function fnv1x32Signed(bytes: Uint8Array, start: number, end: number): number {
  let h = OFFSET | 0
  for (let i = start; i < end; i++) h = Math.imul(h, PRIME) ^ signed(bytes[i]!)
  return h
}

/** twemproxy's fnv1a_64, which is arithmetic of 32 bits with the low words of the constants of 64. */
export function fnv1a64Cut(bytes: Uint8Array, start: number, end: number): number {
  let h = 0x84222325 | 0
  for (let i = start; i < end; i++) h = Math.imul(h ^ signed(bytes[i]!), 0x1b3)
  return h
}

/** twemproxy's fnv1_64: 64 bits inside, the low word out. */
export function fnv1x64Low(bytes: Uint8Array, start: number, end: number): number {
  let high = 0xcbf29ce4 | 0
  let low = 0x84222325 | 0
  for (let i = start; i < end; i++) {
    const byte = signed(bytes[i]!)
    high = multiply(high, low, 0x100, 0x1b3) ^ (byte >> 31)
    low = wide.low ^ byte
  }
  return low
}
