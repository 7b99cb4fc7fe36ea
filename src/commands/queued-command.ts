import type { RedisArgument, TypeMapping } from '../redis-client.js'
import type { CommandProfile } from '../shard/call.js'
import type { ArgumentParser } from './argument-parser.js'
import type { Command } from './command.js'
import type { CommandFacts } from './command-table.js'
import type { TransformReply } from './definitions.js'
import type { Call } from './plan.js'
import type { Route } from './routes.js'

/**
 * One command of a transaction or a pipeline, and what becomes of its reply. It is its own `Call`: a queue of many commands
 * lives until its replies are there, and each further object of a command is one more that the collector has to move.
 */
export class QueuedCommand implements Call {
  readonly words: readonly RedisArgument[]
  readonly profile: CommandProfile
  readonly facts: CommandFacts | undefined
  readonly route: Route
  readonly script: RedisArgument | undefined
  /** The only key; undefined where there is none, or more than one. */
  readonly onlyKey: RedisArgument | undefined
  readonly #keys: readonly RedisArgument[] | undefined
  readonly #transform: TransformReply | undefined
  readonly #preserve: unknown

  private constructor(
    { profile, facts, route }: Pick<Call, 'profile' | 'facts' | 'route'>,
    words: readonly RedisArgument[],
    script: RedisArgument | undefined,
    onlyKey: RedisArgument | undefined,
    keys: readonly RedisArgument[] | undefined,
    transform: TransformReply | undefined,
    preserve: unknown,
  ) {
    this.words = words
    this.profile = profile
    this.facts = facts
    this.route = route
    this.script = script
    this.onlyKey = onlyKey
    this.#keys = keys
    this.#transform = transform
    this.#preserve = preserve
  }

  /** A typed command with its arguments as they were parsed. */
  static typed(command: Command, parser: ArgumentParser): QueuedCommand {
    const single = parser.keyCount === 1
    return new QueuedCommand(
      command,
      parser.redisArgs,
      command.script?.SCRIPT,
      single ? parser.firstKey : undefined,
      single ? undefined : parser.keys,
      command.transform,
      parser.preserve,
    )
  }

  /** Any call, a raw command's say. */
  static of(call: Call, transform: TransformReply | undefined, preserve: unknown): QueuedCommand {
    return new QueuedCommand(call, call.words, call.script, undefined, call.keys, transform, preserve)
  }

  get keys(): readonly RedisArgument[] {
    return this.#keys ?? [this.onlyKey!]
  }

  transform(reply: unknown, typeMapping: TypeMapping | undefined): unknown {
    return this.#transform === undefined ? reply : this.#transform(reply, this.#preserve, typeMapping)
  }
}
