import { UnsupportedCommandError } from '../errors.js'
import type { RedisArgument, TypeMapping } from '../redis-client.js'
import type { CallOptions, ShardPort } from '../shard/call.js'
import { normalizePrefix } from './argument-parser.js'
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
 * this function: one promise hop, no closure, no timer. Everything thrown, bad arguments too, rejects the promise, as
 * node-redis's methods do.
 */
export async function run(
  router: Router,
  command: Command,
  args: readonly unknown[],
  options: CallOptions | undefined,
): Promise<unknown> {
  if (command.definition === undefined) {
    const complaint = command.learn(args)
    if (complaint !== undefined) return complaint
  }
  const parser = command.parse(args, router.keyPrefix)
  const gate = router.context.waitUntilOpen()
  if (gate !== undefined) await gate
  const transform = command.transform
  let reply: unknown
  if (command.plain) {
    const { profile } = command
    const words = parser.redisArgs
    const shard =
      parser.keyCount === 1 ? router.map.shardOf(parser.firstKey) : router.map.sameShard(profile.name, parser.keys)
    const since = shard.clock.now
    try {
      reply = await shard.send(words, profile, options)
    } catch (error) {
      reply = await shard.recover(error, words, profile, options, since)
    } finally {
      shard.settled++
    }
  } else {
    reply = await execute(router, command.call(parser), options)
  }
  return transform === undefined ? reply : transform(reply, parser.preserve, router.typeMappingOf(options))
}
