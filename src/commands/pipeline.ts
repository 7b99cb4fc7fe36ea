import { MultiShardError } from '../errors.js'
import { ErrorReply, type RedisArgument } from '../redis-client.js'
import type { CallOptions, CommandProfile, ShardPort } from '../shard/call.js'
import { mapNumbers } from './execute.js'
import { describe, joinPlan, needsPlainNumbers, type Part, type PartOutcome, type Plan, planCall } from './plan.js'
import type { QueuedCommand } from './queued-command.js'
import type { Router } from './router.js'
import { ScriptWords } from './script-words.js'

/** One shard's share: its commands in the order of the calls, each belonging to a part of a plan. */
interface Share {
  readonly parts: Part[]
  readonly words: (readonly RedisArgument[])[]
  readonly profiles: CommandProfile[]
  readonly scripts: ScriptWords
}

/**
 * `multi().execAsPipeline()` and `pipeline()`: commands of any shards, one write per shard, replies in the order of the
 * calls. Not atomic, neither over shards nor within one. Commands that split or go to all shards do so here too.
 */
export async function execPipeline(
  router: Router,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
): Promise<unknown[]> {
  const plans = queue.map(({ call }) => planCall(router.map, call))
  const shares = new Map<ShardPort, Share>()
  plans.forEach((plan, i) => {
    for (const part of plan.parts) {
      let share = shares.get(part.shard)
      if (share === undefined) {
        share = { parts: [], words: [], profiles: [], scripts: new ScriptWords(router.scripts) }
        shares.set(part.shard, share)
      }
      share.parts.push(part)
      share.words.push(share.scripts.wordsOf({ ...queue[i]!.call, words: part.words }))
      share.profiles.push(plan.profile)
    }
  })
  const outcomes = new Map<Part, PartOutcome>()
  const ends = await Promise.all([...shares].map(([shard, share]) => sendShare(shard, share, options, outcomes)))
  const lost = ends.filter((end) => 'error' in end)
  if (lost.length > 0) {
    throw ends.length === 1 ? (lost[0] as { error: unknown }).error : new MultiShardError('PIPELINE', describe(ends))
  }
  return joinAll(router, queue, plans, outcomes, options)
}

/** Sends one shard's share. Resolves with how the whole of it ended: the replies, or what lost them all. */
async function sendShare(
  shard: ShardPort,
  share: Share,
  options: CallOptions | undefined,
  outcomes: Map<Part, PartOutcome>,
): Promise<PartOutcome> {
  const whole: Part = { shard, words: ['PIPELINE'], keys: share.parts.flatMap(({ keys }) => keys) }
  const profile = { name: 'PIPELINE', readOnly: share.profiles.every(({ readOnly }) => readOnly) }
  const since = shard.clock.now
  try {
    const replies = await shard.sendBatch(share.words, profile, options)
    for (const [i, part] of share.parts.entries()) {
      outcomes.set(part, await settleEntry(shard, part, share, i, replies[i], options, since))
    }
    return { part: whole, reply: replies }
  } catch (error) {
    return { part: whole, error }
  }
}

/** A command that was refused unexecuted (READONLY…) is repeated by itself; any other error reply is its outcome. */
async function settleEntry(
  shard: ShardPort,
  part: Part,
  share: Share,
  i: number,
  reply: unknown,
  options: CallOptions | undefined,
  since: number,
): Promise<PartOutcome> {
  if (!(reply instanceof ErrorReply)) return { part, reply }
  try {
    return { part, reply: await shard.recover(reply, share.words[i]!, share.profiles[i]!, options, since) }
  } catch (error) {
    return { part, error }
  }
}

/**
 * Joins each call's parts. As node-redis does, the first failed command's error rejects the whole; it carries all replies
 * in `replies` and the places of the failed ones in `errorIndexes`, as MultiErrorReply does.
 */
function joinAll(
  router: Router,
  queue: readonly QueuedCommand[],
  plans: readonly Plan[],
  outcomes: ReadonlyMap<Part, PartOutcome>,
  options: CallOptions | undefined,
): unknown[] {
  const errors: number[] = []
  const replies = plans.map((plan, i) => {
    const ended = plan.parts.map((part) => outcomes.get(part)!)
    try {
      const joined = joinPlan(plan, ended)
      const mapped = needsPlainNumbers(plan) ? mapNumbers(joined, router.typeMappingOf(options)) : joined
      return queue[i]!.transform(mapped)
    } catch (error) {
      errors.push(i)
      return error
    }
  })
  if (errors.length > 0) throw Object.assign(replies[errors[0]!] as Error, { replies, errorIndexes: errors })
  return replies
}
