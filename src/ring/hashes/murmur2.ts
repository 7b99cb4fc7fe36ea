/** MurmurHash2 of 32 bits, as twemproxy seeds it: with the length of the key. */

const M = 0x5bd1e995

export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start
  let h = Math.imul(0xdeadbeef, length) ^ length
  let i = start
  for (; i + 4 <= end; i += 4) {
    let k = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    k = Math.imul(k, M)
    k = Math.imul(k ^ (k >>> 24), M)
    h = Math.imul(h, M) ^ k
  }
  if (i < end) {
    for (let shift = 0; i < end; i++, shift += 8) h ^= bytes[i]! << shift
    h = Math.imul(h, M)
  }
  h = Math.imul(h ^ (h >>> 13), M)
  return h ^ (h >>> 15)
}
