import { signed } from './fnv.js'

/** Bob Jenkins's hashes and Hsieh's, as twemproxy has them; marked where C's signed `char` widens bytes from 0x80 on. */

/** Jenkins's one-at-a-time, over signed bytes. */
export function oneAtATimeSigned(bytes: Uint8Array, start: number, end: number): number {
  let h = 0
  for (let i = start; i < end; i++) {
    h = (h + signed(bytes[i]!)) | 0
    h = (h + (h << 10)) | 0
    h ^= h >>> 6
  }
  h = (h + (h << 3)) | 0
  h ^= h >>> 11
  return (h + (h << 15)) | 0
}

/** Jenkins's lookup3 (`hashlittle`). */
export function lookup3(bytes: Uint8Array, start: number, end: number, seed: number): number {
  let length = end - start
  let a = (0xdeadbeef + length + seed) | 0
  let b = a
  let c = a
  if (length === 0) return c
  let i = start
  while (length > 12) {
    a = (a + upTo4(bytes, i, end)) | 0
    b = (b + upTo4(bytes, i + 4, end)) | 0
    c = (c + upTo4(bytes, i + 8, end)) | 0
    a = (a - c) ^ rotate(c, 4)
    c = (c + b) | 0
    b = (b - a) ^ rotate(a, 6)
    a = (a + c) | 0
    c = (c - b) ^ rotate(b, 8)
    b = (b + a) | 0
    a = (a - c) ^ rotate(c, 16)
    c = (c + b) | 0
    b = (b - a) ^ rotate(a, 19)
    a = (a + c) | 0
    c = (c - b) ^ rotate(b, 4)
    b = (b + a) | 0
    i += 12
    length -= 12
  }
  a = (a + upTo4(bytes, i, end)) | 0
  b = (b + upTo4(bytes, i + 4, end)) | 0
  c = (c + upTo4(bytes, i + 8, end)) | 0
  c = ((c ^ b) - rotate(b, 14)) | 0
  a = ((a ^ c) - rotate(c, 11)) | 0
  b = ((b ^ a) - rotate(a, 25)) | 0
  c = ((c ^ b) - rotate(b, 16)) | 0
  a = ((a ^ c) - rotate(c, 4)) | 0
  b = ((b ^ a) - rotate(a, 14)) | 0
  return ((c ^ b) - rotate(b, 24)) | 0
}

/** Hsieh's SuperFastHash from 0 on (twemproxy does not mix the length in); only the third byte left over is signed. */
export function hsieh(bytes: Uint8Array, start: number, end: number): number {
  let h = 0
  let i = start
  for (; i + 4 <= end; i += 4) {
    h = (h + half(bytes, i)) | 0
    const t = (half(bytes, i + 2) << 11) ^ h
    h = (h << 16) ^ t
    h = (h + (h >>> 11)) | 0
  }
  switch (end - i) {
    case 3:
      h = (h + half(bytes, i)) | 0
      h ^= h << 16
      h ^= signed(bytes[i + 2]!) << 18
      h = (h + (h >>> 11)) | 0
      break
    case 2:
      h = (h + half(bytes, i)) | 0
      h ^= h << 11
      h = (h + (h >>> 17)) | 0
      break
    case 1:
      h = (h + bytes[i]!) | 0
      h ^= h << 10
      h = (h + (h >>> 1)) | 0
      break
  }
  h ^= h << 3
  h = (h + (h >>> 5)) | 0
  h ^= h << 4
  h = (h + (h >>> 17)) | 0
  h ^= h << 25
  return (h + (h >>> 6)) | 0
}

function half(bytes: Uint8Array, i: number): number {
  return bytes[i]! | (bytes[i + 1]! << 8)
}

/** Four bytes little-endian, those past the end as 0. */
function upTo4(bytes: Uint8Array, i: number, end: number): number {
  let value = 0
  if (i < end) value = bytes[i]!
  if (i + 1 < end) value |= bytes[i + 1]! << 8
  if (i + 2 < end) value |= bytes[i + 2]! << 16
  if (i + 3 < end) value |= bytes[i + 3]! << 24
  return value
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}
