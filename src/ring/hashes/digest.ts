import { createHash, getHashes } from 'node:crypto'

/** Digests of node:crypto, for the rings whose original lets its users name one. MD5 has a file of its own. */
export type Digest = (bytes: Uint8Array) => Uint8Array

/** True for every name that this Node can digest with. */
export function isDigest(name: string): boolean {
  try {
    createHash(name)
    return true
  } catch {
    return false
  }
}

/** Names to choose from, for the message of an error. */
export function digestNames(): readonly string[] {
  return getHashes().filter((name) => /^[a-z0-9-]+$/.test(name) && !name.includes('rsa'))
}

export function digestOf(name: string): Digest {
  return (bytes) => createHash(name).update(bytes).digest()
}
