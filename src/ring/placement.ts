import type { KeySpace } from './key-space.js'

/** What a preset makes of the shards: everything a ring is, but for names and checks. */
export interface Placement {
  locateText(key: string): number
  locateBytes(key: Uint8Array): number
  /** Made when asked for: only `describe` and `planRing` read it, and it may be as long as the list of points. */
  space(): KeySpace
  /** Points (slots, list entries) of every shard. */
  readonly points: readonly number[]
  /** The preset with everything that decides placement but the shards, for the fingerprint. */
  readonly facts: string
  /** True where the place of a shard in the list decides placement. */
  readonly ordered: boolean
}
