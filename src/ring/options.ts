import type { RingShard, ShardInput } from './shards.js'

/** Our own ring: the default. Any order of the list, weights of any size, Redis Cluster's hash tags. It has no options. */
export interface Murmur3Options {
  readonly preset?: 'murmur3' | undefined
}

/**
 * ShardedJedis, ShardedJedisPool, ShardedJedisSentinelPool (Jedis 2.10 to 3.10; unnamed shards of 2.0 on) and JedisSharding
 * (4, 5): `jedis` for MURMUR_HASH, which is their default, `jedis-md5` for MD5. Whole weights. Byte keys are never tagged.
 */
export interface JedisOptions {
  readonly preset: 'jedis' | 'jedis-md5'
  /**
   * How shards are called: `'position'` as unnamed shards are (by the place in the list, so its order decides),
   * `'label'` as named ones. A list says it shard by shard.
   * @default `'label'` for every shard that is given a `label`, `'position'` for the others
   */
  readonly naming?: JedisNaming | readonly JedisNaming[] | undefined
  /** keyTagPattern, in Java's syntax; Sharded.DEFAULT_KEY_TAG_PATTERN is `'\\{(.+?)\\}'`. @default none */
  readonly tag?: string | RegExp | undefined
}

/**
 * Named shards of Jedis 2.0 to 2.9, and Jedis 1.5, where the label is `host:port`. Unnamed shards of 2.x: `jedis`.
 */
export interface JedisLegacyOptions {
  readonly preset: 'jedis-legacy'
  /** MURMUR_HASH or MD5. @default 'murmur' */
  readonly hash?: 'murmur' | 'md5' | undefined
  /** @default 'label' */
  readonly naming?: JedisNaming | readonly JedisNaming[] | undefined
  /** keyTagPattern, in Java's syntax. @default none */
  readonly tag?: string | RegExp | undefined
}

/** What a shard is called in Jedis's ring: its place in the list, or its label. */
export type JedisNaming = 'position' | 'label'

/** npm hashring 3.2; the label is the server string, such as `10.0.0.1:6379`. Weights of any size above 0. */
export interface HashringOptions {
  readonly preset: 'hashring'
  /** Any digest of node:crypto; the second argument of hashring. @default 'md5' */
  readonly algorithm?: string | undefined
  /** Points of a digest, 1 to 64. @default 4 */
  readonly replicas?: number | undefined
  /** `ketama` is 4 replicas, `hash_ring` 3; excludes `replicas`. @default 'none' */
  readonly compatibility?: 'none' | 'ketama' | 'hash_ring' | undefined
  /** `vnode count`: digests of a server of mean weight, 1 to 65536. @default 40 */
  readonly vnodeCount?: number | undefined
  /** `default port`: servers on it are called by their host alone. @default none */
  readonly defaultPort?: number | undefined
  /** Digests of single servers, by shard name; excludes weights. @default none */
  readonly vnodes?: Readonly<Record<string, number>> | undefined
}

/** `hash` of twemproxy, by the names of its configuration file. */
export type TwemproxyHash =
  | 'one_at_a_time'
  | 'md5'
  | 'crc16'
  | 'crc32'
  | 'crc32a'
  | 'fnv1_64'
  | 'fnv1a_64'
  | 'fnv1_32'
  | 'fnv1a_32'
  | 'hsieh'
  | 'murmur'
  | 'jenkins'

interface TwemproxyKeyOptions {
  /** Hash of the keys; the points of ketama are MD5 in any case. @default 'fnv1a_64' */
  readonly hash?: TwemproxyHash | undefined
  /** hash_tag: two bytes, such as `'{}'`. @default none */
  readonly hashTag?: string | undefined
}

/**
 * twemproxy 0.3 to 0.5; the label is the name of the server or, where it has none, `host:port`. Whole weights. `ketama` and
 * `modula` are short for the two distributions.
 */
export type TwemproxyOptions = TwemproxyKeyOptions &
  (
    | { readonly preset: 'twemproxy' /** @default 'ketama' */; readonly distribution?: 'ketama' | 'modula' | undefined }
    | { readonly preset: 'ketama' | 'modula' }
  )

/** Predis 1 to 3; the label is `host:port`. Whole weights, of which none and 0 mean 100. Hash tags always on. */
export interface PredisOptions {
  readonly preset: 'predis'
  /** HashRing or KetamaRing. @default 'hashring' */
  readonly distributor?: 'hashring' | 'ketama' | undefined
  /** Points of a server of mean weight, 1 to 65536; HashRing only. @default 128 */
  readonly replicas?: number | undefined
}

/** Redis::Distributed of redis-rb; the label is `host:port` or the id of the node. No weights. */
export interface RedisRbOptions {
  readonly preset: 'redis-rb'
  /** Major version; 3 and 4 place keys alike. Must be given, since 5 places them elsewhere. */
  readonly version: 3 | 4 | 5
  /** Points of a server, 1 to 65536. @default 160 */
  readonly replicas?: number | undefined
  /** The database in the URL, for labels of the form `host:port`. @default 0 */
  readonly db?: number | undefined
  /** `tag:`, in Ruby's syntax, ASCII. @default '^\\{(.+?)\\}' */
  readonly tag?: string | RegExp | undefined
}

/** Ring of go-redis; the label is the key in RingOptions.Addrs. No weights. Hash tags always on. */
export interface GoRedisOptions {
  readonly preset: 'go-redis'
  /** Major version; 6 and 7 are alike, 8 and 9 are. Must be given. */
  readonly version: 6 | 7 | 8 | 9
}

/** RedisArray of phpredis 5.3; the label is the host string. No weights. Hash tags always on. */
export interface PhpredisOptions {
  readonly preset: 'phpredis'
  /** @default false, where the order of the list decides and names do not */
  readonly consistent?: boolean | undefined
  /** A hash of PHP: any digest of node:crypto, `crc32b`, `fnv1a32`, `xxh32`, `murmur3a`. @default the CRC-32 of phpredis */
  readonly algorithm?: string | undefined
}

/** Redis Cluster's slots. */
export interface SlotsOptions {
  readonly preset: 'slots'
  /**
   * Ranges of slots `[first, last]` by shard name; together they must be 0 to 16383, each once. Excludes weights.
   * @default spread in list order and by weight, as `redis-cli --cluster create` does
   */
  readonly ranges?: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>> | undefined
}

/** The options of any preset. */
export type PresetOptions =
  | Murmur3Options
  | JedisOptions
  | JedisLegacyOptions
  | HashringOptions
  | TwemproxyOptions
  | PredisOptions
  | RedisRbOptions
  | GoRedisOptions
  | PhpredisOptions
  | SlotsOptions

/** A ring of your own points: a key belongs to the first point at or after its hash, unsigned, going round. */
export interface OwnRingOptions {
  readonly preset?: undefined
  /** 32 bits of `bytes`, signed or unsigned; the same for the same bytes, always. Called for every key. */
  readonly hash: (bytes: Uint8Array) => number
  /** Points of a shard of weight 1, 1 to 65536. @default 160 */
  readonly pointsPerShard?: number | undefined
  /** Text whose hash is point `n` (from 0) of a shard. @default `${shard.label}-${n}` */
  readonly label?: ((shard: RingShard, n: number) => string) | undefined
  /** Redis Cluster's hash tags. @default false */
  readonly hashTags?: boolean | undefined
}

/** A ring that is a plain function: the index of the shard in the list. Anything else it returns is an error. */
export type LocateFunction = (key: string | Uint8Array) => number

/** What the pool takes as its option `ring`. */
export type RingChoice = PresetOptions | OwnRingOptions | LocateFunction

/** What `createRing` takes: the shards, and the ring's options beside them or, as the pool has them, under `ring`. */
export type RingOptions = { readonly shards: readonly ShardInput[] } & (
  | ((PresetOptions | OwnRingOptions) & { readonly ring?: undefined })
  | { readonly ring: RingChoice }
)
