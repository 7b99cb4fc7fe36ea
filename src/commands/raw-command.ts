import type { RedisArgument } from '../redis-client.js'
import type { CallOptions, CommandProfile } from '../shard/call.js'
import { askAnyone, carry } from './carry.js'
import { type CommandFacts, isRepeatable, lookUpCommand } from './command-table.js'
import { execute } from './execute.js'
import { type KeySpec, keyPlaces } from './key-specs.js'
import type { Call } from './plan.js'
import type { Router } from './router.js'
import { isOfMaster, type Route, routeOf, UNKNOWN_ROUTE } from './routes.js'
import { askServer } from './server-facts.js'

/** How a raw command is to be routed when its caller knows better than the key specifications. */
export interface RawRouting {
  /** Goes to the shard of this key, whatever the command says. As on the wire: no prefix is put before it. */
  readonly key: RedisArgument
  /** The caller's word that running it twice changes nothing; counts only for commands the table does not know. */
  readonly readOnly?: boolean | undefined
}

/** What is worked out once for a command's name as it was written. */
interface RawCommand {
  readonly facts: CommandFacts
  readonly route: Route
  readonly profile: CommandProfile
  /** The place of the only key of a command that goes to that key's shard and nowhere else; 0 for all others. */
  readonly onlyKeyAt: number
}

/** By the name in the caller's own spelling, so that the usual call costs one look-up. Of the table's names only. */
const known = new Map<string, RawCommand | undefined>()

/** `sendCommand(words)`: routed by the command's own key specifications, its reply not transformed. */
export async function sendRaw(
  router: Router,
  words: readonly RedisArgument[],
  routing: RawRouting | undefined,
  given: CallOptions | undefined,
): Promise<unknown> {
  if (!Array.isArray(words) || words.length === 0)
    throw new TypeError('a command is an array that begins with its name')
  const copy = words.slice() as RedisArgument[]
  const gate = router.context.waitUntilOpen(given)
  const options = gate === undefined ? given : await gate
  const command = routing === undefined ? rawCommand(copy) : undefined
  if (command !== undefined && command.onlyKeyAt > 0 && command.onlyKeyAt < copy.length) {
    return carry(router.map.shardOf(copy[command.onlyKeyAt]), copy, command.profile, options)
  }
  const call = rawCall(router, copy, routing)
  // No await for what the table knows, so that commands keep the order they were called in.
  return execute(router, call instanceof Promise ? await call : call, options)
}

/** The call that raw words make. A promise only where a server must be asked. */
export function rawCall(
  router: Router,
  words: readonly RedisArgument[],
  routing: RawRouting | undefined,
): Call | Promise<Call> {
  const command = rawCommand(words)
  if (routing !== undefined) return routedCall(words, routing, command)
  const keys = command === undefined ? undefined : keysBySpecs(command.facts, words)
  return command === undefined || keys === undefined ? askAndCall(router, words) : { ...command, words, keys }
}

/** The caller's key stands in for keys; it cannot make a connection's own command fit for a shared connection. */
function routedCall(words: readonly RedisArgument[], routing: RawRouting, command: RawCommand | undefined): Call {
  const keys = [routing.key]
  if (command === undefined) {
    const profile = { name: String(words[0]).toUpperCase(), readOnly: routing.readOnly === true }
    return { words, keys, facts: undefined, route: UNKNOWN_ROUTE, profile }
  }
  const { route } = command
  return { ...command, words, keys, route: route.kind === 'refused' || route.kind === 'keyed' ? route : UNKNOWN_ROUTE }
}

function rawCommand(words: readonly RedisArgument[]): RawCommand | undefined {
  const name = String(words[0])
  const command = known.get(name)
  if (command !== undefined && !command.facts.flags.has('container')) return command
  return words.length > 1
    ? lookUp(`${name} ${String(words[1])}`, name, String(words[1]))
    : lookUp(name, name, undefined)
}

function lookUp(spelling: string, name: string, subcommand: string | undefined): RawCommand | undefined {
  const before = known.get(spelling)
  if (before !== undefined) return before
  const facts = lookUpCommand(name, subcommand)
  if (facts === undefined) return undefined
  const command = rawCommandOf(facts)
  // Only names of the table are kept, in at most as many spellings as a program has: never a caller's key.
  const isWhole = !facts.name.includes(' ')
  if (known.size < 10_000) known.set(isWhole ? name : spelling, command)
  return command
}

function rawCommandOf(facts: CommandFacts): RawCommand {
  const route = routeOf(facts)
  const plain = route.kind === 'keyed' && !route.blocking && !facts.name.startsWith('EVALSHA')
  const [spec, ...more] = facts.keySpecs ?? []
  const single =
    spec !== undefined && more.length === 0 && 'index' in spec.begin && 'last' in spec.find && spec.find.last === 0
  return {
    facts,
    route,
    profile: { name: facts.name, readOnly: isRepeatable(facts), ofMaster: isOfMaster(route) },
    onlyKeyAt: plain && single ? (spec.begin as { index: number }).index : 0,
  }
}

async function askAndCall(router: Router, words: readonly RedisArgument[]): Promise<Call> {
  const listed = rawCommand(words)
  const facts =
    listed?.facts.keySpecs !== undefined ? listed.facts : ((await askServer(router, words)) ?? listed?.facts)
  if (facts === undefined) {
    // No server knows the command: the first will say so in its own words. Never more than one, it might know it after all.
    const profile = { name: String(words[0]).toUpperCase(), readOnly: false }
    return { words, keys: [], facts, route: { kind: 'unknown' }, profile }
  }
  const keys = keysBySpecs(facts, words) ?? (await askKeys(router, words))
  return { ...rawCommandOf(facts), words, keys }
}

/** The keys by the table; undefined when the table leaves it open and only the server can tell. */
export function keysBySpecs(facts: CommandFacts, words: readonly RedisArgument[]): RedisArgument[] | undefined {
  const specs = facts.keySpecs
  if (specs === undefined) return facts.request === 'default-keyed' ? undefined : []
  const places = specs.filter((spec): spec is KeySpec => spec !== undefined).flatMap((spec) => keyPlaces(spec, words))
  // SORT: its first word is a key, and where nothing follows there can be no other.
  if (specs.includes(undefined) && words.length > Math.max(0, ...places) + 1) return undefined
  const keys = places.map((at) => words[at]!)
  // MIGRATE has an empty word where the key would be when it names its keys after KEYS.
  return keys.length > 1 && specs.length > 1 ? keys.filter((key) => key.length > 0) : keys
}

/** COMMAND GETKEYS of the whole command: the last resort, one round trip. */
async function askKeys(router: Router, words: readonly RedisArgument[]): Promise<RedisArgument[]> {
  const profile = { name: 'COMMAND GETKEYS', readOnly: true }
  const reply = await askAnyone(router.shards, ['COMMAND', 'GETKEYS', ...words], profile, { typeMapping: {} })
  return reply as RedisArgument[]
}
