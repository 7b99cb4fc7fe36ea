import type { RedisArgument } from '../redis-client.js'
import type { CommandProfile } from '../shard/call.js'
import { ArgumentParser } from './argument-parser.js'
import { type CommandFacts, isRepeatable, lookUpCommand } from './command-table.js'
import {
  type CommandDefinition,
  captureCommand,
  type MethodSite,
  nothingCaptured,
  type ScriptDefinition,
  type TransformReply,
} from './definitions.js'
import type { Call } from './plan.js'
import { isOfMaster, type Route, routeOf, UNKNOWN_ROUTE } from './routes.js'

/**
 * One method of the pool: node-redis's definition of the command, learned at its first call, and our answers to "which
 * shard?" and "may it be repeated?". Shared by all pools of one client configuration, so it holds nothing of a pool.
 */
export class Command {
  readonly site: MethodSite
  definition: CommandDefinition | undefined = undefined
  transform: TransformReply | undefined = undefined
  script: ScriptDefinition | undefined = undefined
  facts: CommandFacts | undefined = undefined
  route: Route = UNKNOWN_ROUTE
  profile: CommandProfile
  /** True when a call with one key goes to that key's shard over the shared connection, and nothing else is to do. */
  plain = false
  #prefix: readonly RedisArgument[] | undefined = undefined
  // The words the answers above were worked out for.
  #head: RedisArgument | undefined = undefined
  #subcommand: RedisArgument | undefined = undefined

  constructor(site: MethodSite) {
    this.site = site
    this.profile = { name: site.name.toUpperCase(), readOnly: false }
  }

  /**
   * Learns the definition from the arguments of the first call. Returns a promise that rejects with node-redis's own
   * complaint when they are no good, and undefined when all is well.
   */
  learn(args: readonly unknown[]): Promise<never> | undefined {
    const { command, returned } = captureCommand(this.site, args)
    if (command === undefined) {
      return returned.then(() => {
        throw nothingCaptured(this.site.name)
      })
    }
    this.definition = command.definition
    this.transform = command.transform
    if (command.prefix.length > 0) this.#prefix = command.prefix
    if (command.isScript) this.script = command.definition as ScriptDefinition
    return undefined
  }

  /** The words and keys of one call. Throws what node-redis's definition throws on bad arguments. */
  parse(args: readonly unknown[], keyPrefix: RedisArgument | undefined): ArgumentParser {
    const parser = this.#begin(keyPrefix)
    this.definition!.parseCommand(parser, ...args)
    return this.#end(parser)
  }

  /** The same for up to three arguments, without an array of them. `count` matters: a definition may count its arguments. */
  parseFew(count: number, a: unknown, b: unknown, c: unknown, keyPrefix: RedisArgument | undefined): ArgumentParser {
    const parser = this.#begin(keyPrefix)
    const definition = this.definition!
    if (count === 1) definition.parseCommand(parser, a)
    else if (count === 2) definition.parseCommand(parser, a, b)
    else if (count === 3) definition.parseCommand(parser, a, b, c)
    else definition.parseCommand(parser)
    return this.#end(parser)
  }

  #begin(keyPrefix: RedisArgument | undefined): ArgumentParser {
    const parser = new ArgumentParser(keyPrefix)
    if (this.#prefix !== undefined) for (const word of this.#prefix) parser.push(word)
    return parser
  }

  #end(parser: ArgumentParser): ArgumentParser {
    const words = parser.redisArgs
    if (words[0] !== this.#head || (this.#subcommand !== undefined && words[1] !== this.#subcommand)) {
      this.#classify(words)
    }
    return parser
  }

  /** One call in the words of the planner. */
  call(parser: ArgumentParser): Call {
    return new ParsedCall(this, parser)
  }

  /** Nearly always once: only a user's own module may write another command from call to call. */
  #classify(words: readonly RedisArgument[]): void {
    const command = String(words[0])
    const container = lookUpCommand(command)?.flags.has('container') === true
    this.#head = words[0]
    this.#subcommand = container ? words[1] : undefined
    this.facts = lookUpCommand(command, container && words[1] !== undefined ? String(words[1]) : undefined)
    this.route = routeOf(this.facts)
    this.profile = {
      name: this.facts?.name ?? command.toUpperCase(),
      readOnly: isRepeatable(this.facts, this.definition?.IS_READ_ONLY),
      ofMaster: isOfMaster(this.route),
    }
    this.plain = this.route.kind === 'keyed' && !this.route.blocking && !/^EVALSHA/.test(this.profile.name)
  }
}

class ParsedCall implements Call {
  readonly words: readonly RedisArgument[]
  readonly profile: CommandProfile
  readonly facts: CommandFacts | undefined
  readonly route: Route
  readonly script: RedisArgument | undefined
  readonly #parser: ArgumentParser

  constructor({ profile, facts, route, script }: Command, parser: ArgumentParser) {
    this.words = parser.redisArgs
    this.profile = profile
    this.facts = facts
    this.route = route
    this.script = script?.SCRIPT
    this.#parser = parser
  }

  /** A copy each time: a command that is split goes by its words and asks for none. */
  get keys(): readonly RedisArgument[] {
    return this.#parser.keys
  }
}
