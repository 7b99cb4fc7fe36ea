import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'

/** Reads the answers of the real systems (test/fixtures/vectors; its README says where they come from). */
export function readVectors<T>(name: string): T {
  const file = new URL(`../../../fixtures/vectors/${name}.json.br`, import.meta.url)
  return JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as T
}

export interface Case<Topology> {
  readonly topology: Topology
  readonly shards: readonly (number | null)[]
  readonly binary?: readonly (number | null)[]
  readonly lone?: readonly (number | null)[]
}

export interface VectorFile<Topology> {
  readonly cases: readonly Case<Topology>[]
}

const raw = readVectors<{ text: string[]; binaryHex: string[]; lone: string[] }>('keys')

/** The keys that every file answers for, as `locate` takes them. */
export const keys = {
  text: raw.text,
  binary: raw.binaryHex.map((hex) => new Uint8Array(Buffer.from(hex, 'hex'))),
  lone: raw.lone.map((hex) => hex.replace(/..../g, (unit) => String.fromCharCode(Number.parseInt(unit, 16)))),
}
