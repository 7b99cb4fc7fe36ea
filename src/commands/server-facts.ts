import type { RedisArgument } from '../redis-client.js'
import { askAnyone } from './carry.js'
import type { CommandFacts, RequestPolicy, ResponsePolicy } from './command-table.js'
import { readKeySpec } from './key-specs.js'
import type { Router } from './router.js'

/**
 * What a server says of a command that the table does not know, in the table's own form: a module's command, or one of a
 * later Redis. Asked once per pool and command.
 */
const asked = new WeakMap<Router, Map<string, Promise<CommandFacts | undefined>>>()

export function askServer(router: Router, words: readonly RedisArgument[]): Promise<CommandFacts | undefined> {
  const name = String(words[0]).toUpperCase()
  const known = asked.get(router) ?? new Map<string, Promise<CommandFacts | undefined>>()
  asked.set(router, known)
  const running = known.get(name)
  if (running !== undefined) return running
  const question = readCommandInfo(router, name)
  known.set(name, question)
  // Neither a failure nor "no such command" is kept: a module may be loaded later.
  const forget = () => known.delete(name)
  question.then((facts) => facts === undefined && forget(), forget)
  return question
}

async function readCommandInfo(router: Router, name: string): Promise<CommandFacts | undefined> {
  const profile = { name: 'COMMAND INFO', readOnly: true }
  const reply = (await askAnyone(router.shards, ['COMMAND', 'INFO', name], profile, { typeMapping: {} })) as unknown[]
  const entry = reply[0]
  return Array.isArray(entry) ? factsFromInfo(entry) : undefined
}

/** One entry of the COMMAND reply, of RESP 2 or 3. */
export function factsFromInfo(entry: readonly unknown[]): CommandFacts {
  const [name, , flags, firstKey, lastKey, step, groups, tips, specs] = entry
  const words = [...listOf(flags), ...listOf(groups)].map(String)
  const keySpecs = listOf(specs).map(specText)
  // Servers before 7.0 have no specifications, only the first key, the last and the step between them.
  if (specs === undefined && Number(firstKey) > 0) keySpecs.push(`${firstKey}:${rangeEnd(firstKey, lastKey)}:${step}`)
  const keyed = keySpecs.length > 0 || words.includes('movablekeys')
  const tip = (prefix: string) =>
    listOf(tips)
      .map(String)
      .find((text) => text.startsWith(prefix))
      ?.slice(prefix.length)
  const silent = keyed ? 'default-keyed' : 'default-keyless'
  return {
    name: String(name).toUpperCase(),
    request: (tip('request_policy:') ?? silent) as RequestPolicy,
    response: (tip('response_policy:') ?? silent) as ResponsePolicy,
    flags: new Set(words),
    keySpecs: specs === undefined && words.includes('movablekeys') ? [undefined] : keySpecs.map(readKeySpec),
  }
}

/** An old table counts the last key from the first word, a specification from the first key. */
function rangeEnd(firstKey: unknown, lastKey: unknown): number {
  return Number(lastKey) < 0 ? Number(lastKey) : Number(lastKey) - Number(firstKey)
}

/** The short form of one specification, as the generator writes it. */
function specText(raw: unknown): string {
  const spec = fieldsOf(raw)
  const begin = fieldsOf(spec.begin_search)
  const find = fieldsOf(spec.find_keys)
  const b = fieldsOf(begin.spec)
  const f = fieldsOf(find.spec)
  const from = begin.type === 'index' ? `${b.index}` : `${b.keyword}@${b.startfrom}`
  if (begin.type === 'unknown' || find.type === 'unknown') return '?'
  if (find.type === 'keynum') return `${from}#${f.keynumidx}:${f.firstkey}:${f.keystep}`
  const limit = Number(f.limit)
  return `${from}:${f.lastkey}:${f.keystep}${limit ? `:${limit}` : ''}`
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value instanceof Set ? [...value] : []
}

/** A map, as RESP 3 gives it (an object or a Map) or as RESP 2 does (names and values in turn). */
function fieldsOf(value: unknown): Record<string, unknown> {
  if (value instanceof Map) return Object.fromEntries(value) as Record<string, unknown>
  if (!Array.isArray(value)) return (value ?? {}) as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (let i = 0; i < value.length; i += 2) fields[String(value[i])] = value[i + 1]
  return fields
}
