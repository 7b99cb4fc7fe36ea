import { Backoff } from '../async/backoff.js'
import { sleep } from '../async/sleep.js'
import { type KeyLike, UnsupportedCommandError } from '../errors.js'
import {
  assertEncodable,
  ErrorReply,
  MultiErrorReply,
  type RedisArgument,
  type TypeMapping,
  WatchError,
} from '../redis-client.js'
import type { CallOptions, CommandProfile, ShardPort } from '../shard/call.js'
import { classifyFailure } from '../shard/failure.js'
import type { PartOutcome } from './plan.js'
import { multiShardFailure } from './plan.js'
import type { QueuedCommand } from './queued-command.js'
import type { Router } from './router.js'
import { ScriptWords } from './script-words.js'

/**
 * `multi().exec()`: MULTI, the commands and EXEC in one write on the shared connection of one shard. No lease is needed,
 * since nothing can come between them. What shard it is, is checked before anything is sent.
 *
 * An EXEC that the server refused (READONLY after a failover, say) has run nothing, so the whole is sent again within the
 * deadline. A transaction whose answer was lost is never sent again: its error says `outcome: 'unknown'`.
 */
export async function execTransaction(
  router: Router,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
): Promise<unknown[]> {
  if (router.context.crossShardMulti === 'split') return execSplit(router, queue, options)
  return transformReplies(
    queue,
    await transact(router, oneShard(router, queue), queue, options),
    router.typeMappingOf(options),
  )
}

/** The shard of all keys of all commands. A transaction without a single key has none. */
function oneShard(router: Router, queue: readonly QueuedCommand[]): ShardPort {
  const keys = queue.flatMap((queued) => routingKeys(queued) as RedisArgument[])
  if (keys.length === 0) {
    throw new UnsupportedCommandError('MULTI', 'no command in it names a key; use `pool.shards[i].use(…)`')
  }
  return router.map.sameShard('MULTI', keys)
}

/** What decides the shard: the keys, or the channel of a publish. Throws for commands that concern more than one shard. */
function routingKeys({ route, words, keys, profile }: QueuedCommand): readonly KeyLike[] {
  switch (route.kind) {
    case 'keyed':
    case 'split':
      return keys
    case 'channel':
      return [words[route.at]!]
    case 'any':
      return []
    case 'refused':
      throw new UnsupportedCommandError(profile.name, route.hint)
    default:
      if (profile.name === 'PING') return []
      throw new UnsupportedCommandError(
        profile.name,
        'it concerns every shard; call it on the pool, not in a transaction',
      )
  }
}

/** `crossShardMulti: 'split'`: one transaction per shard, atomic only within it; replies in the order of the calls. */
async function execSplit(
  router: Router,
  queue: readonly QueuedCommand[],
  options: CallOptions | undefined,
): Promise<unknown[]> {
  const groups = new Map<ShardPort, number[]>()
  const keyless: number[] = []
  queue.forEach((queued, i) => {
    const keys = routingKeys(queued) as RedisArgument[]
    if (keys.length === 0) keyless.push(i)
    else put(groups, router.map.sameShard(queued.profile.name, keys), i)
  })
  const [first] = groups.keys()
  if (first === undefined)
    return transformReplies(
      queue,
      await transact(router, oneShard(router, queue), queue, options),
      router.typeMappingOf(options),
    )
  // A command without a key says the same everywhere; it goes with the first that has one.
  for (const i of keyless) put(groups, first, i)
  for (const { words } of queue) assertEncodable(words)
  const replies = new Array<unknown>(queue.length)
  const outcomes = await Promise.all(
    [...groups].map(async ([shard, places]): Promise<PartOutcome> => {
      places.sort((a, b) => a - b)
      const commands = places.map((i) => queue[i]!)
      const part = { shard, words: ['MULTI'], keys: commands.flatMap(({ keys }) => keys) }
      try {
        const reply = await transact(router, shard, commands, options)
        places.forEach((place, i) => {
          replies[place] = reply[i]
        })
        return { part, reply }
      } catch (error) {
        return { part, error }
      }
    }),
  )
  const failed = outcomes.find((outcome) => 'error' in outcome)
  if (failed !== undefined) throw outcomes.length === 1 ? errorOf(failed) : multiShardFailure('MULTI', outcomes)
  return transformReplies(queue, replies, router.typeMappingOf(options))
}

function put(groups: Map<ShardPort, number[]>, shard: ShardPort, place: number): void {
  const places = groups.get(shard)
  if (places === undefined) groups.set(shard, [place])
  else places.push(place)
}

function errorOf(outcome: PartOutcome): unknown {
  return 'error' in outcome ? outcome.error : undefined
}

/** MULTI … EXEC on one shard; the raw replies of EXEC. */
async function transact(
  router: Router,
  shard: ShardPort,
  commands: readonly QueuedCommand[],
  options: CallOptions | undefined,
): Promise<readonly unknown[]> {
  const scripts = new ScriptWords(router.scripts)
  const batch = [['MULTI'], ...commands.map((queued) => scripts.wordsOf(queued, queued.words)), ['EXEC']]
  const profile: CommandProfile = { name: 'MULTI', readOnly: commands.every(({ profile }) => profile.readOnly) }
  // The real clock: the coarse one may sleep and wake between two of the repeats.
  const since = performance.now()
  let backoff: Backoff | undefined
  for (;;) {
    const entries = await shard.sendBatch(batch, profile, options, since)
    const executed = entries.at(-1)
    if (Array.isArray(executed) && hasRun(commands, executed)) return executed
    if (executed === null) throw new WatchError()
    const refused = refusal(entries)
    // A PING passes where a write does not (NOREPLICAS): the whole must not be sent every few milliseconds for that.
    if (backoff === undefined) backoff = new Backoff(REPEAT_BACKOFF)
    else await sleep(backoff.next(), shard.closed).catch(() => {})
    // Nothing has run. Where the refusal was the server's state and not the commands', the shard waits until a PING passes.
    await shard.recover(refused, ['PING'], PROBE, options, since)
  }
}

/** Between two sends of a transaction that was refused. The cap is far below any deadline. */
const REPEAT_BACKOFF = { minMs: 5, maxMs: 50 } as const

const PROBE: CommandProfile = { name: 'MULTI', readOnly: true }

/**
 * False for what EXEC gives on a node that is no master: up to Redis 6 the writes are left out and only the reads run, so that
 * there are fewer replies than commands; and a script, which is queued, is refused when it comes to write. Nothing was written.
 */
function hasRun(commands: readonly QueuedCommand[], replies: readonly unknown[]): boolean {
  if (replies.length !== commands.length) return false
  if (!replies.some(isFromNoMaster)) return true
  // A write would not have been queued there, so this is a script's own word for something else.
  return commands.some(({ facts }) => facts === undefined || facts.flags.has('write'))
}

function isFromNoMaster(reply: unknown): boolean {
  return reply instanceof ErrorReply && classifyFailure(reply) === 'moved'
}

/** Why EXEC ran nothing: the first command the server did not queue, or what EXECABORT names as its reason. */
function refusal(entries: readonly unknown[]): unknown {
  const executed = entries.at(-1)
  const first =
    entries.find((entry) => entry instanceof ErrorReply) ??
    (Array.isArray(executed) ? executed.find(isFromNoMaster) : undefined)
  if (first === undefined) return new Error('EXEC gave an answer that is neither a list nor an error')
  const reason = /^EXECABORT .*because of: (.*)$/s.exec(first.message)?.[1]
  return reason === undefined ? first : new ErrorReply(reason)
}

/** As node-redis: every reply transformed; when some are errors, a MultiErrorReply that holds all of them. */
function transformReplies(
  queue: readonly QueuedCommand[],
  replies: readonly unknown[],
  typeMapping: TypeMapping | undefined,
): unknown[] {
  const errors: number[] = []
  const transformed = replies.map((reply, i) => {
    if (reply instanceof ErrorReply) {
      errors.push(i)
      return reply
    }
    return queue[i]!.transform(reply, typeMapping)
  })
  if (errors.length > 0) throw new MultiErrorReply(transformed as ErrorReply[], errors)
  return transformed
}
