import { UnsupportedCommandError } from '../errors.js'
import type { RedisArgument, TypeMapping } from '../redis-client.js'
import type { CallOptions, CommandProfile, ShardPort } from '../shard/call.js'
import { type ArgumentParser, normalizePrefix } from './argument-parser.js'
import type { Command } from './command.js'
import { execute } from './execute.js'
import { PubSub } from './pub-sub.js'
import type { RoutingContext } from './routing-context.js'
import { ScriptTexts } from './script-texts.js'
import { ShardMap } from './shard-map.js'

/** What one pool's commands need at each call. Fields are read on the hot path: plain, no getters. */
export class Router {
  readonly context: RoutingContext
  readonly map: ShardMap
  readonly shards: readonly ShardPort[]
  readonly keyPrefix: RedisArgument | undefined
  readonly typeMapping: TypeMapping | undefined
  readonly scripts = new ScriptTexts()
  /** Subscriptions of the pool's present life. */
  readonly pubSub: PubSub
  readonly #generations: number[] = []

  constructor(context: RoutingContext) {
    this.context = context
    this.map = new ShardMap(context.ring, context.shards)
    this.shards = context.shards
    this.keyPrefix = normalizePrefix(context.keyPrefix)
    this.typeMapping = context.typeMapping
    this.pubSub = new PubSub({
      map: this.map,
      openSubscriber: (index) => {
        const { openSubscriber } = context
        return openSubscriber === undefined ? Promise.reject(noSubscribers()) : openSubscriber(index)
      },
      onGap: (gap) => context.onSubscriptionGap?.(gap),
      onListenerError: (error) => context.onListenerError?.(error),
    })
    context.onMasterChanged?.((index) => {
      this.#generations[index] = this.generationOf(index) + 1
      this.pubSub.masterChanged(index)
    })
  }

  /** Counts how often a shard's connections were made anew; cursors hold within one generation. */
  generationOf(shardIndex: number): number {
    return this.#generations[shardIndex] ?? 0
  }

  typeMappingOf(options: CallOptions | undefined): TypeMapping | undefined {
    return options === undefined ? this.typeMapping : options.typeMapping
  }
}

function noSubscribers(): Error {
  return new UnsupportedCommandError('SUBSCRIBE', 'this client was made without subscriber connections')
}

/**
 * Runs one call of one method: parse, route, send, transform. An ordinary command with one key costs nothing more than
 * this function and `sendPlain`: one promise hop, one or two closures, no timer. Everything thrown, bad arguments too,
 * rejects the promise, as node-redis's methods do.
 *
 * `count` arguments are `a`, `b`, `c`, then `rest`: an array of them would be made for every call.
 */
export function run(
  router: Router,
  command: Command,
  options: CallOptions | undefined,
  count: number,
  a: unknown,
  b: unknown,
  c: unknown,
  rest: readonly unknown[],
): Promise<unknown> {
  try {
    if (command.definition === undefined) {
      const complaint = command.learn([a, b, c, ...rest].slice(0, count))
      if (complaint !== undefined) return complaint
    }
    const { keyPrefix } = router
    const parser =
      count <= 3 ? command.parseFew(count, a, b, c, keyPrefix) : command.parse([a, b, c, ...rest], keyPrefix)
    const gate = router.context.waitUntilOpen(options)
    if (gate !== undefined || !command.plain) return runOther(router, command, parser, options, gate)
    return sendPlain(router, command, parser, options)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** What is not plain, or has to wait for the pool to open. */
async function runOther(
  router: Router,
  command: Command,
  parser: ArgumentParser,
  given: CallOptions | undefined,
  gate: Promise<CallOptions | undefined> | undefined,
): Promise<unknown> {
  const options = gate === undefined ? given : await gate
  if (command.plain) return sendPlain(router, command, parser, options)
  const { transform } = command
  const reply = await execute(router, command.call(parser), options)
  return transform === undefined ? reply : transform(reply, parser.preserve, router.typeMappingOf(options))
}

/** Chained by hand: an async function would keep a frame of all this alive for as long as the call. */
function sendPlain(
  router: Router,
  { profile, transform }: Command,
  parser: ArgumentParser,
  options: CallOptions | undefined,
): Promise<unknown> {
  const words = parser.redisArgs
  const shard =
    parser.keyCount === 1 ? router.map.shardOf(parser.firstKey) : router.map.sameShard(profile.name, parser.keys)
  const since = shard.clock.now
  const sent = shard.send(words, profile, options)
  if (transform === undefined) {
    return sent.then(
      (reply) => {
        shard.settled++
        return reply
      },
      (error) => recover(shard, error, words, profile, options, since),
    )
  }
  const { preserve } = parser
  const typeMapping = router.typeMappingOf(options)
  return sent.then(
    (reply) => {
      shard.settled++
      return transform(reply, preserve, typeMapping)
    },
    async (error) => transform(await recover(shard, error, words, profile, options, since), preserve, typeMapping),
  )
}

async function recover(
  shard: ShardPort,
  error: unknown,
  words: readonly RedisArgument[],
  profile: CommandProfile,
  options: CallOptions | undefined,
  since: number,
): Promise<unknown> {
  try {
    return await shard.recover(error, words, profile, options, since)
  } finally {
    shard.settled++
  }
}
