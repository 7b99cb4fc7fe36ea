import type { RedisArgument } from '../redis-client.js'
import type { CallOptions } from '../shard/call.js'
import { carry } from './carry.js'
import { type CommandFacts, isRepeatable, lookUpCommand } from './command-table.js'
import { execute } from './execute.js'
import { type KeySpec, keyPlaces, readKeySpec } from './key-specs.js'
import type { Call } from './plan.js'
import type { Router } from './router.js'
import { routeOf, UNKNOWN_ROUTE } from './routes.js'
import { askServer } from './server-facts.js'

/** How a raw command is to be routed when its caller knows better than the key specifications. */
export interface RawRouting {
  /** Goes to the shard of this key, whatever the command says. As on the wire: no prefix is put before it. */
  readonly key: RedisArgument
  /** The caller's word that running it twice changes nothing; counts only for commands the table does not know. */
  readonly readOnly?: boolean | undefined
}

const KEYED = UNKNOWN_ROUTE

/** `sendCommand(words)`: routed by the command's own key specifications, its reply not transformed. */
export async function sendRaw(
  router: Router,
  words: readonly RedisArgument[],
  routing: RawRouting | undefined,
  options: CallOptions | undefined,
): Promise<unknown> {
  if (!Array.isArray(words) || words.length === 0)
    throw new TypeError('a command is an array that begins with its name')
  const copy = words.slice() as RedisArgument[]
  const gate = router.context.waitUntilOpen()
  if (gate !== undefined) await gate
  return execute(router, await rawCall(router, copy, routing), options)
}

/** No await for what the table knows, so that commands keep the order they were called in. */
export function rawCall(
  router: Router,
  words: readonly RedisArgument[],
  routing: RawRouting | undefined,
): Call | Promise<Call> {
  const facts = lookUpWords(words)
  if (routing !== undefined) {
    const route = routeOf(facts)
    // The caller's key stands in for keys; it cannot make a connection's own command fit for a shared connection.
    const keyed = route.kind === 'refused' || route.kind === 'keyed' ? route : KEYED
    return makeCall(words, [routing.key], facts, keyed, routing.readOnly)
  }
  const keys = facts === undefined ? undefined : keysBySpecs(facts, words)
  if (facts !== undefined && keys !== undefined) return makeCall(words, keys, facts, routeOf(facts), undefined)
  return askAndCall(router, words)
}

async function askAndCall(router: Router, words: readonly RedisArgument[]): Promise<Call> {
  const known = lookUpWords(words)
  const facts = known?.keySpecs !== undefined ? known : ((await askServer(router, words)) ?? known)
  const keys = (facts === undefined ? [] : keysBySpecs(facts, words)) ?? (await askKeys(router, words))
  // No server knows the command: any one of them will say so in its own words.
  if (facts === undefined) return makeCall(words, [], undefined, { kind: 'any' }, undefined)
  return makeCall(words, keys, facts, routeOf(facts), undefined)
}

function makeCall(
  words: readonly RedisArgument[],
  keys: readonly RedisArgument[],
  facts: CommandFacts | undefined,
  route: Call['route'],
  readOnly: boolean | undefined,
): Call {
  const name = facts?.name ?? String(words[0]).toUpperCase()
  return {
    words,
    keys,
    facts,
    route,
    profile: { name, readOnly: isRepeatable(facts, facts === undefined ? readOnly : undefined) },
  }
}

function lookUpWords(words: readonly RedisArgument[]): CommandFacts | undefined {
  return lookUpCommand(String(words[0]), words.length > 1 ? String(words[1]) : undefined)
}

/** The keys by the table; undefined when the table leaves it open and only the server can tell. */
export function keysBySpecs(facts: CommandFacts, words: readonly RedisArgument[]): RedisArgument[] | undefined {
  if (facts.keySpecs === undefined) return facts.request === 'default-keyed' ? undefined : []
  const specs = facts.keySpecs.map(readKeySpec)
  const places = specs.filter((spec): spec is KeySpec => spec !== undefined).flatMap((spec) => keyPlaces(spec, words))
  // SORT: its first word is a key, and where nothing follows there can be no other.
  if (specs.includes(undefined) && words.length > Math.max(0, ...places) + 1) return undefined
  const keys = places.map((at) => words[at]!)
  // MIGRATE has an empty word where the key would be when it names its keys after KEYS.
  return keys.length > 1 && specs.length > 1 ? keys.filter((key) => key.length > 0) : keys
}

/** COMMAND GETKEYS of the whole command: the last resort, one round trip, asked of the first shard that answers. */
async function askKeys(router: Router, words: readonly RedisArgument[]): Promise<RedisArgument[]> {
  const profile = { name: 'COMMAND GETKEYS', readOnly: true }
  const reply = await carry(router.shards[0]!, ['COMMAND', 'GETKEYS', ...words], profile, { typeMapping: {} })
  return reply as RedisArgument[]
}
