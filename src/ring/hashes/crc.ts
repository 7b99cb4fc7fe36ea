/** Cyclic redundancy checks: the CRC-32 of zlib, and the CRC-16 of Redis Cluster in its two guises. */

const CRC32 = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

const CRC16 = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1
  return crc
})

/** The ordinary CRC-32 (zlib, PHP's crc32, Ruby's Zlib.crc32, Go's ChecksumIEEE). */
export function crc32(bytes: Uint8Array, start: number, end: number): number {
  let crc = -1
  for (let i = start; i < end; i++) crc = CRC32[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8)
  return ~crc
}

/** CRC-16/XMODEM: what Redis Cluster takes modulo 16384. */
export function crc16(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0
  for (let i = start; i < end; i++) crc = ((crc << 8) & 0xffff) ^ CRC16[(crc >>> 8) ^ bytes[i]!]!
  return crc
}

/** twemproxy's crc16: the same table, but the sum is kept in 32 bits and never cut to 16. */
export function crc16Unmasked(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0
  for (let i = start; i < end; i++) crc = (crc << 8) ^ CRC16[((crc >>> 8) ^ bytes[i]!) & 255]!
  return crc
}
