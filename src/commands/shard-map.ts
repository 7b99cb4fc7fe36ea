import { CrossShardError, InvalidKeyError, UnsupportedCommandError } from '../errors.js'
import type { RedisArgument } from '../redis-client.js'
import type { ShardPort } from '../shard/call.js'

const NO_KEY =
  'it names no key, so no shard can be told; say it with `pool.sendCommand(key, words)` or `pool.shards[i].use(…)`'

/** The ring and the shards together: which shard owns a key. No I/O. */
export class ShardMap {
  readonly ring: { locate(key: string | Uint8Array): number }
  readonly shards: readonly ShardPort[]

  constructor(ring: ShardMap['ring'], shards: readonly ShardPort[]) {
    this.ring = ring
    this.shards = shards
  }

  /** Place of the shard that owns a key as it goes on the wire; before there are shards too. Throws InvalidKeyError. */
  indexOf(key: unknown): number {
    if (typeof key !== 'string' && !(key instanceof Uint8Array)) throw new InvalidKeyError(key)
    return this.ring.locate(key)
  }

  /** The shard of one key as it goes on the wire. Throws InvalidKeyError for what is neither text nor bytes. */
  shardOf(key: unknown): ShardPort {
    return this.shards[this.indexOf(key)]!
  }

  /** The one shard of all these keys. Every key is looked at, never only the first. */
  sameShard(command: string, keys: readonly RedisArgument[]): ShardPort {
    if (keys.length === 0) {
      throw new UnsupportedCommandError(command, NO_KEY)
    }
    const shard = this.shardOf(keys[0])
    for (let i = 1; i < keys.length; i++) {
      if (this.shardOf(keys[i]) !== shard) {
        const names = keys.map((key) => this.shardOf(key).name)
        throw new CrossShardError(command, keys, names)
      }
    }
    return shard
  }
}
