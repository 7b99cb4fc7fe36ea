import { CrossShardError, InvalidKeyError, UnsupportedCommandError } from '../errors.js'
import type { RedisArgument, TypeMapping } from '../redis-client.js'
import type { CallOptions, ShardPort } from '../shard/call.js'
import { type ArgumentParser, normalizePrefix } from './argument-parser.js'
import type { Command } from './command.js'
import type { RoutingContext } from './routing-context.js'

/** What one pool's commands need at each call. Fields are read on the hot path: plain, no getters. */
export class Router {
  readonly context: RoutingContext
  readonly ring: RoutingContext['ring']
  readonly shards: readonly ShardPort[]
  readonly keyPrefix: RedisArgument | undefined
  readonly typeMapping: TypeMapping | undefined

  constructor(context: RoutingContext) {
    this.context = context
    this.ring = context.ring
    this.shards = context.shards
    this.keyPrefix = normalizePrefix(context.keyPrefix)
    this.typeMapping = context.typeMapping
  }

  /** The shard of one key as it goes on the wire. */
  shardOf(key: unknown): ShardPort {
    if (typeof key !== 'string' && !(key instanceof Uint8Array)) throw new InvalidKeyError(key)
    return this.shards[this.ring.locate(key)]!
  }

  /** The one shard of all these keys, or a CrossShardError. */
  sameShard(name: string, keys: readonly RedisArgument[]): ShardPort {
    const shard = this.shardOf(keys[0])
    for (let i = 1; i < keys.length; i++) {
      if (this.shardOf(keys[i]) !== shard) {
        throw new CrossShardError(
          name,
          keys,
          keys.map((key) => this.shardOf(key).name),
        )
      }
    }
    return shard
  }
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
  if (!command.plain) return runOther(router, command, parser, options)
  const shard =
    parser.keyCount === 1 ? router.shardOf(parser.firstKey) : shardOfKeys(router, command.profile.name, parser)
  const words = parser.redisArgs
  const since = shard.clock.now
  let reply: unknown
  try {
    reply = await shard.send(words, command.profile, options)
  } catch (error) {
    reply = await shard.recover(error, words, command.profile, options, since)
  } finally {
    shard.settled++
  }
  const transform = command.transform
  if (transform === undefined) return reply
  return transform(reply, parser.preserve, options === undefined ? router.typeMapping : options.typeMapping)
}

function shardOfKeys(router: Router, name: string, parser: ArgumentParser): ShardPort {
  if (parser.keyCount === 0) {
    throw new UnsupportedCommandError(name, 'it names no key, so no shard can be told; use `pool.shards[i].use(…)`')
  }
  return router.sameShard(name, parser.keys)
}

async function runOther(
  _router: Router,
  command: Command,
  _parser: ArgumentParser,
  _options: CallOptions | undefined,
): Promise<unknown> {
  const { route } = command
  throw new UnsupportedCommandError(command.profile.name, route.kind === 'refused' ? route.hint : 'not yet')
}
