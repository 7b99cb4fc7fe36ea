import type { RedisArgument } from '../redis-client.js'
import type { CallOptions } from '../shard/call.js'
import { carry } from './carry.js'
import type { Call } from './plan.js'
import type { Router } from './router.js'

/**
 * One SCAN over all shards, one after the other: a cursor of ours carries the shard and that shard's own cursor in one
 * decimal number, `cursor * shards + shard`, so that it may be stored, passed on and compared with `'0'` like any other.
 * It begins and ends with 0, and needs no memory here.
 *
 * After a failover a cursor of the old master means nothing on the new one. `scanIterator` notices and begins that shard
 * anew; a cursor held by the caller cannot, and may miss keys of that shard.
 */
export async function scanOnce(router: Router, call: Call, options: CallOptions | undefined): Promise<unknown> {
  const at = call.profile.name === 'SCAN' ? 1 : 2
  const { shard: index, cursor } = splitCursor(call.words[at] ?? '0', router.shards.length)
  const words = [...call.words]
  // Words without a cursor go out as they are: the server's own complaint is the answer.
  if (words.length > at) words[at] = cursor
  const reply = (await carry(router.shards[index]!, words, call.profile, options)) as [RedisArgument, ...unknown[]]
  const [next, ...rest] = reply
  const joined = joinCursor(index, String(next), router.shards.length)
  return [typeof next === 'string' ? joined : Buffer.from(joined), ...rest]
}

/** 0 begins with the first shard; text that is no number is left for the server to complain about. */
export function splitCursor(given: RedisArgument, shards: number): { shard: number; cursor: string } {
  const text = String(given)
  if (!/^\d+$/.test(text)) return { shard: 0, cursor: text }
  const whole = BigInt(text)
  return { shard: Number(whole % BigInt(shards)), cursor: (whole / BigInt(shards)).toString() }
}

/** The shard's own cursor at its end moves on to the next shard; the last shard's end is the end. */
export function joinCursor(shard: number, cursor: string, shards: number): string {
  if (cursor !== '0') return (BigInt(cursor) * BigInt(shards) + BigInt(shard)).toString()
  return shard + 1 < shards ? String(shard + 1) : '0'
}
