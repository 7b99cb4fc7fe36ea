import { UnsupportedCommandError } from '../errors.js'
import { assertEncodable, ErrorReply, type RedisArgument } from '../redis-client.js'
import type { CallOptions, CommandProfile, ShardPort } from '../shard/call.js'
import { mayBlock } from './blocking.js'
import { mapNumbers } from './execute.js'
import {
  joinPlan,
  multiShardFailure,
  needsPlainNumbers,
  type Part,
  type PartOutcome,
  type Plan,
  planCall,
} from './plan.js'
import type { QueuedCommand } from './queued-command.js'
import type { Router } from './router.js'
import { ScriptWords } from './script-words.js'

/** One shard's share of the commands, in the order of the calls. The arrays run in parallel. */
class Share {
  readonly shard: ShardPort
  readonly words: (readonly RedisArgument[])[] = []
  /** Whose command it is: the place of the call, and for those that are not the first of theirs, which part of it. */
  readonly calls: number[] = []
  readonly parts: (number | undefined)[] = []
  readonly scripts: ScriptWords
  readOnly = true

  constructor(shard: ShardPort, scripts: ScriptWords) {
    this.shard = shard
    this.scripts = scripts
  }

  add(queued: QueuedCommand, words: readonly RedisArgument[], call: number, part: number): void {
    if (part > 0) this.parts[this.calls.length] = part
    this.words.push(this.scripts.wordsOf(queued, words))
    this.calls.push(call)
    if (!queued.profile.readOnly) this.readOnly = false
  }
}

/** A call's plan and how its parts have ended; undefined where a single part went to one shard, the usual case. */
interface Spread {
  readonly plan: Plan
  readonly outcomes: PartOutcome[]
}

const NO_WAITING =
  'it would hold up everybody on the shared connection; call it on the pool, which gives it one of its own'

/**
 * `multi().execAsPipeline()` and `pipeline()`: commands of any shards, one write per shard, replies in the order of the
 * calls. Not atomic, neither over shards nor within one. Commands that split or go to all shards do so here too.
 */
export async function execPipeline(
  router: Router,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
): Promise<unknown[]> {
  const shares: (Share | undefined)[] = []
  const spreads: (Spread | undefined)[] = []
  const shareOf = (shard: ShardPort): Share => {
    const share = shares[shard.index] ?? new Share(shard, new ScriptWords(router.scripts))
    shares[shard.index] = share
    return share
  }
  for (let i = 0; i < queue.length; i++) {
    const queued = queue[i]!
    const { route, words, onlyKey, profile } = queued
    if (mayBlock(route, words)) throw new UnsupportedCommandError(profile.name, NO_WAITING)
    if (route.kind === 'keyed') {
      const { map } = router
      const shard = onlyKey === undefined ? map.sameShard(profile.name, queued.keys) : map.shardOf(onlyKey)
      shareOf(shard).add(queued, words, i, 0)
      continue
    }
    const plan = planCall(router.map, queued)
    spreads[i] = { plan, outcomes: [] }
    plan.parts.forEach((part, p) => {
      shareOf(part.shard).add(queued, part.words, i, p)
    })
  }
  const replies = new Array<unknown>(queue.length)
  const sending = shares.filter((share) => share !== undefined)
  // A single share is checked where it is sent.
  if (sending.length > 1) for (const { words } of queue) assertEncodable(words)
  const ends = await Promise.all(sending.map((share) => sendShare(share, queue, options, spreads, replies)))
  const lost = ends.find((end) => 'error' in end)
  if (lost !== undefined) {
    throw ends.length === 1 ? (lost as { error: unknown }).error : multiShardFailure('PIPELINE', ends)
  }
  return finish(router, queue, spreads, replies, options)
}

/** Sends one shard's share. Resolves with how the whole of it ended: the replies, or what lost them all. */
async function sendShare(
  share: Share,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
  spreads: readonly (Spread | undefined)[],
  replies: unknown[],
): Promise<PartOutcome> {
  const { shard } = share
  // The real clock: the coarse one may sleep and wake between two of the repeats.
  const since = performance.now()
  try {
    const answers = await shard.sendBatch(share.words, profileOf(share, queue, options), options)
    for (let i = 0; i < answers.length; i++) {
      const call = share.calls[i]!
      let answer = answers[i]
      // Refused unexecuted (READONLY…), a command is repeated by itself; any other complaint is its answer.
      if (answer instanceof ErrorReply) answer = await repeat(share, i, queue[call]!.profile, answer, options, since)
      const spread = spreads[call]
      if (spread === undefined) {
        replies[call] = answer
        continue
      }
      const part = share.parts[i] ?? 0
      spread.outcomes[part] = outcomeOf(spread.plan.parts[part]!, answer)
    }
    return { part: wholeOf(share), reply: answers }
  } catch (error) {
    return { part: wholeOf(share), error }
  }
}

function profileOf(
  { calls, readOnly }: Share,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
): CommandProfile {
  const profile = { name: 'PIPELINE', readOnly }
  if (options?.replicaAck === undefined) return profile
  return { ...profile, writes: calls.map((call) => !queue[call]!.profile.readOnly) }
}

async function repeat(
  share: Share,
  i: number,
  profile: CommandProfile,
  error: ErrorReply,
  options: CallOptions | undefined,
  since: number,
): Promise<unknown> {
  try {
    return await share.shard.recover(error, share.words[i]!, profile, options, since)
  } catch (failure) {
    return failure
  }
}

/** No reply of a server is an Error object, so an Error is always a failure. */
function outcomeOf(part: Part, answer: unknown): PartOutcome {
  return answer instanceof Error ? { part, error: answer } : { part, reply: answer }
}

/** For the error of a lost share: all its words are many, so its keys are not listed. */
function wholeOf({ shard }: Share): Part {
  return { shard, words: [], keys: [] }
}

/**
 * Joins and transforms. As node-redis does, the first failed command's error rejects the whole; it carries all replies in
 * `replies` and the places of the failed ones in `errorIndexes`, as MultiErrorReply does.
 */
function finish(
  router: Router,
  queue: readonly QueuedCommand[],
  spreads: readonly (Spread | undefined)[],
  replies: unknown[],
  options: CallOptions | undefined,
): unknown[] {
  const errors: number[] = []
  const typeMapping = router.typeMappingOf(options)
  for (let i = 0; i < queue.length; i++) {
    const spread = spreads[i]
    try {
      if (spread !== undefined) {
        const joined = joinPlan(spread.plan, spread.outcomes)
        replies[i] = needsPlainNumbers(spread.plan) ? mapNumbers(joined, typeMapping) : joined
      }
      if (replies[i] instanceof Error) errors.push(i)
      else replies[i] = queue[i]!.transform(replies[i], typeMapping)
    } catch (error) {
      replies[i] = error
      errors.push(i)
    }
  }
  if (errors.length > 0) throw withReplies(replies[errors[0]!] as Error, replies, errors)
  return replies
}

/** Not enumerable: the error is one of its own replies, and a log that writes all of it down would never end. */
function withReplies(error: Error, replies: readonly unknown[], errorIndexes: readonly number[]): Error {
  const hidden = { configurable: true, writable: true, enumerable: false }
  return Object.defineProperties(error, {
    replies: { ...hidden, value: replies },
    errorIndexes: { ...hidden, value: errorIndexes },
  })
}
