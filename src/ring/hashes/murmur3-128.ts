import murmur from 'murmurhash3js-revisited'

/**
 * MurmurHash3 x64 128 as 32 hex digits: the digest in fingerprints of rings that only the user's own code can explain. The
 * only importer of murmurhash3js-revisited.
 */
export function murmur3x128(bytes: Uint8Array): string {
  return murmur.x64.hash128(bytes)
}
