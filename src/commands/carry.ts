import type { RedisArgument } from '../redis-client.js'
import type { CallOptions, CommandProfile, ShardPort } from '../shard/call.js'

/** One command on one shard's shared connection, with the shard's own repeat rules (DESIGN R10). */
export async function carry(
  shard: ShardPort,
  words: readonly RedisArgument[],
  profile: CommandProfile,
  options: CallOptions | undefined,
): Promise<unknown> {
  const since = shard.clock.now
  try {
    return await shard.send(words, profile, options)
  } catch (error) {
    return await shard.recover(error, words, profile, options, since)
  } finally {
    shard.settled++
  }
}
