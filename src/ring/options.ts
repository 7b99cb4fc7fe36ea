import type { ShardInput } from './shards.js'

/** Our own ring: the default. Any order of the list, weights of any size, Redis Cluster's hash tags. It has no options. */
export interface Murmur3Options {
  readonly preset?: 'murmur3' | undefined
}

export type PresetOptions = Murmur3Options

/** What the pool takes as its option `ring`. */
export type RingChoice = PresetOptions

/** What `createRing` takes: the shards, and the ring's options beside them or under `ring`. */
export type RingOptions = { readonly shards: readonly ShardInput[] } & (
  | (RingChoice & { readonly ring?: undefined })
  | { readonly ring: RingChoice }
)
