import { MultiShardError, type ShardOutcome, UnsupportedCommandError } from '../errors.js'
import { AbortError, ErrorReply, type RedisArgument } from '../redis-client.js'
import type { CommandProfile, ShardPort } from '../shard/call.js'
import { classifyFailure } from '../shard/failure.js'
import type { CommandFacts } from './command-table.js'
import { isNumeric, type Join, joinReplies } from './joins.js'
import { keyPlaces } from './key-specs.js'
import type { Route } from './routes.js'
import type { ShardMap } from './shard-map.js'

/** What one shard is to do for a command. */
export interface Part {
  readonly shard: ShardPort
  readonly words: readonly RedisArgument[]
  readonly keys: readonly RedisArgument[]
  /** For a split command with a list as its answer: where each of this part's answers belongs. */
  readonly places?: readonly number[]
}

/** How a part ended. */
export type PartOutcome = { readonly part: Part } & ({ readonly reply: unknown } | { readonly error: unknown })

/** A command laid out over the shards: pure data, nothing has been sent. */
export interface Plan {
  readonly profile: CommandProfile
  readonly parts: readonly Part[]
  /** How the replies become one; `'places'` puts list entries back in the caller's order, `'one'` takes the only reply. */
  readonly join: Join | 'places' | 'one'
  /** Length of the list that `'places'` fills. */
  readonly length: number
}

/** A command's words and keys, from a typed method or from raw words. */
export interface Call {
  readonly words: readonly RedisArgument[]
  readonly keys: readonly RedisArgument[]
  readonly profile: CommandProfile
  readonly facts: CommandFacts | undefined
  readonly route: Route
  /** The text of a script of the client options, for where the server does not know its hash. */
  readonly script?: RedisArgument | undefined
}

/** Keys in one part of a split command: above it a part is cut, so that one call never holds a shard up for long. */
const MAX_KEYS_PER_PART = 10_000

/** Lays a call out over the shards. Throws CrossShardError and UnsupportedCommandError before anything is sent. */
export function planCall(map: ShardMap, call: Call): Plan {
  const { route, words, keys, profile } = call
  const one = (shard: ShardPort): Plan => ({ profile, parts: [{ shard, words, keys }], join: 'one', length: 0 })
  switch (route.kind) {
    case 'refused':
      throw new UnsupportedCommandError(profile.name, route.hint)
    case 'keyed':
      return one(map.sameShard(profile.name, keys))
    case 'split':
      return planSplit(map, call)
    case 'any':
    case 'unknown':
      return one(map.shards[0]!)
    case 'channel':
      return one(map.shardOf(words[route.at]))
    case 'scan':
      throw new UnsupportedCommandError(profile.name, 'a cursor walks over all shards; it cannot be part of a batch')
    case 'all':
      return { profile, parts: map.shards.map((shard) => ({ shard, words, keys })), join: route.join, length: 0 }
  }
}

/** A part that is filled key by key. */
class SplitPart implements Part {
  readonly shard: ShardPort
  readonly words: RedisArgument[]
  readonly places: number[] = []
  readonly #first: number
  readonly #step: number

  constructor(shard: ShardPort, head: RedisArgument[], step: number) {
    this.shard = shard
    this.words = head
    this.#first = head.length
    this.#step = step
  }

  /** Only an error asks for them. */
  get keys(): readonly RedisArgument[] {
    return this.words.filter((_, at) => at >= this.#first && (at - this.#first) % this.#step === 0)
  }
}

/** MGET, MSET, DEL…: by their key specification, one command per shard that owns some of the keys. */
function planSplit(map: ShardMap, call: Call): Plan {
  const { words, profile, facts } = call
  const spec = facts?.keySpecs?.[0]
  const places = spec === undefined ? [] : keyPlaces(spec, words)
  const first = places[0]
  const step = spec !== undefined && 'last' in spec.find ? spec.find.step : 1
  // No key at all, or one without its value: the server's own complaint about the number of arguments is the answer, as
  // with one server. Whole, so that no shard takes its part of it.
  if (first === undefined || (words.length - first) % step !== 0)
    return { profile, parts: [{ shard: map.shards[0]!, words, keys: [] }], join: 'one', length: 0 }
  const parts: SplitPart[] = []
  // The part that each shard's next key goes to, by the shard's index.
  const open: (SplitPart | undefined)[] = []
  for (let position = 0; position < places.length; position++) {
    const at = places[position]!
    const shard = map.shardOf(words[at])
    let part = open[shard.index]
    if (part === undefined || part.places.length === MAX_KEYS_PER_PART) {
      part = new SplitPart(shard, words.slice(0, first), step)
      open[shard.index] = part
      parts.push(part)
    }
    for (let i = 0; i < step; i++) part.words.push(words[at + i]!)
    part.places.push(position)
  }
  if (parts.length === 1) return { profile, parts, join: 'one', length: 0 }
  const response = facts!.response
  return { profile, parts, join: response === 'default-keyed' ? 'places' : (response as Join), length: places.length }
}

/** True when replies must come as plain numbers for the join to add them up. */
export function needsPlainNumbers(plan: Plan): boolean {
  return plan.join !== 'places' && plan.join !== 'one' && isNumeric(plan.join)
}

/** The joined reply of a plan whose parts have all ended; throws when too many failed. */
export function joinPlan(plan: Plan, outcomes: readonly PartOutcome[]): unknown {
  const failed = outcomes.filter((outcome) => 'error' in outcome)
  if (failed.length > 0 && !(plan.join === 'one_succeeded' && failed.length < outcomes.length)) {
    throw failureOf(plan, outcomes, failed)
  }
  const succeeded = failed.length === 0 ? outcomes : outcomes.filter((outcome) => 'reply' in outcome)
  const reply = joinSucceeded(plan, succeeded)
  if ((plan.join === 'same' || plan.join === 'same_pairs') && reply === undefined) throw disagreement(plan, outcomes)
  return reply
}

/** The shards should say the same and do not: each outcome's error holds in `reply` what that shard said. */
function disagreement(plan: Plan, outcomes: readonly PartOutcome[]): MultiShardError {
  const told = outcomes.map(({ part, ...end }) => {
    const error = Object.assign(new Error('the shards answer differently'), end)
    return { shard: part.shard.name, keys: part.keys, error }
  })
  return new MultiShardError(plan.profile.name, told)
}

/** What the parts that succeeded make together; entries of failed parts are left undefined. */
export function joinSucceeded(plan: Plan, outcomes: readonly PartOutcome[]): unknown {
  if (plan.join === 'places') {
    const list = new Array<unknown>(plan.length)
    for (let i = 0; i < outcomes.length; i++) {
      const outcome = outcomes[i]!
      const places = outcome.part.places!
      const entries = (outcome as { reply?: readonly unknown[] }).reply!
      for (let j = 0; j < places.length; j++) list[places[j]!] = entries[j]
    }
    return list
  }
  const replies = outcomes.map((outcome) => ('reply' in outcome ? outcome.reply : undefined))
  if (plan.join === 'one') return replies[0]
  if (replies.length === 0) return undefined
  const names = outcomes.map(({ part }) => part.shard.name)
  return joinReplies(plan.join, replies, names)
}

/** One part's own error where there was only one part, or where every server said the very same. */
function failureOf(plan: Plan, outcomes: readonly PartOutcome[], failed: readonly PartOutcome[]): unknown {
  const errors = failed.map((outcome) => ('error' in outcome ? outcome.error : undefined))
  const [first] = errors
  if (outcomes.length === 1) return first
  const unanimous =
    failed.length === outcomes.length &&
    errors.every((error) => error instanceof ErrorReply && error.message === (first as Error).message)
  return unanimous ? first : multiShardFailure(plan.profile.name, outcomes)
}

/** The caller's own doing is told as with one shard: the AbortError of an aborted call, a complaint about its arguments. */
export function multiShardFailure(command: string, outcomes: readonly PartOutcome[]): unknown {
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  if (errors.every((error) => error instanceof AbortError)) return errors[0]
  if (errors.length === outcomes.length && errors.every((error) => error instanceof TypeError)) return errors[0]
  return new MultiShardError(command, describe(outcomes), { retryable: errors.every(mayPass) })
}

/** What a server refuses for now says so in its reply, and no property of it does. */
function mayPass(error: unknown): boolean {
  if (error instanceof ErrorReply) return classifyFailure(error) !== 'answered'
  return (error as { retryable?: boolean } | undefined)?.retryable === true
}

/** For MultiShardError: shard by shard what was asked of it and how it ended. */
export function describe(outcomes: readonly PartOutcome[]): ShardOutcome[] {
  return outcomes.map((outcome) => {
    const { shard, keys } = outcome.part
    return 'error' in outcome
      ? { shard: shard.name, keys, error: outcome.error }
      : { shard: shard.name, keys, result: outcome.reply }
  })
}
