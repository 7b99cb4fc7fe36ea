/**
 * MD5, because ketama-like rings take it of every key: node:crypto costs two objects and more than a microsecond a key.
 * The four words of the digest, little-endian, are left in `md5Words`; the rings read them as points and hashes.
 */

/** Digest of the last call, as four little-endian words. */
export const md5Words = new Int32Array(4)

/** floor(|sin(i + 1)| * 2^32), spelled out in RFC 1321; sine is exact enough here for all 64. */
const SINES = Int32Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 0x100000000) | 0)
const SHIFTS = Uint8Array.from([7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21])
const block = new Int32Array(16)

/** Digests `bytes[start..end)` into `md5Words` and returns its first word: the hash of nearly every ketama. */
export function md5(bytes: Uint8Array, start: number, end: number): number {
  md5Words[0] = 0x67452301
  md5Words[1] = 0xefcdab89
  md5Words[2] = 0x98badcfe
  md5Words[3] = 0x10325476
  let at = start
  for (; at + 64 <= end; at += 64) {
    for (let w = 0; w < 16; w++) {
      const i = at + w * 4
      block[w] = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    }
    mix()
  }
  const rest = end - at
  block.fill(0)
  for (let i = 0; i < rest; i++) block[i >> 2]! |= bytes[at + i]! << ((i & 3) * 8)
  block[rest >> 2]! |= 0x80 << ((rest & 3) * 8)
  if (rest >= 56) {
    mix()
    block.fill(0)
  }
  const length = end - start
  block[14] = length << 3
  block[15] = Math.floor(length / 0x20000000)
  mix()
  return md5Words[0]!
}

function mix(): void {
  let a = md5Words[0]!
  let b = md5Words[1]!
  let c = md5Words[2]!
  let d = md5Words[3]!
  for (let i = 0; i < 64; i++) {
    let f: number
    let w: number
    if (i < 16) {
      f = (b & c) | (~b & d)
      w = i
    } else if (i < 32) {
      f = (d & b) | (~d & c)
      w = (5 * i + 1) & 15
    } else if (i < 48) {
      f = b ^ c ^ d
      w = (3 * i + 5) & 15
    } else {
      f = c ^ (b | ~d)
      w = (7 * i) & 15
    }
    const sum = (a + f + SINES[i]! + block[w]!) | 0
    const shift = SHIFTS[((i >> 4) << 2) | (i & 3)]!
    a = d
    d = c
    c = b
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0
  }
  md5Words[0]! += a
  md5Words[1]! += b
  md5Words[2]! += c
  md5Words[3]! += d
}
