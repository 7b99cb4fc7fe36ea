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

/**
 * A question that every server answers alike, asked of all shards at once: the first answer wins, so that a shard in
 * trouble holds nothing up. When nobody answers, the first shard's error is thrown.
 */
export async function askAnyone(
  shards: readonly ShardPort[],
  words: readonly RedisArgument[],
  profile: CommandProfile,
  options: CallOptions | undefined,
): Promise<unknown> {
  try {
    return await Promise.any(shards.map((shard) => carry(shard, words, profile, options)))
  } catch (error) {
    throw (error as AggregateError).errors[0]
  }
}
