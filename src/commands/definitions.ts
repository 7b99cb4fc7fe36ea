import type { CommandParser, RedisArgument, TypeMapping } from '../redis-client.js'
import { ArgumentParser } from './argument-parser.js'

/**
 * node-redis's own command definitions, taken from the methods of a client that is never connected.
 *
 * The `redis` package does not export them, and reaching into its files breaks under pnpm and bundlers. But each method
 * hands its definition over when it is called with a receiver of ours instead of a client. What is relied on is pinned
 * by name in test/unit/commands/node-redis-contract.test.ts, and checked once when a pool is made.
 */
export interface CommandDefinition {
  parseCommand(parser: CommandParser, ...args: readonly unknown[]): void
  readonly IS_READ_ONLY?: boolean
  readonly NUMBER_OF_KEYS?: number
}

export interface ScriptDefinition extends CommandDefinition {
  readonly SCRIPT: string
  readonly SHA1: string
}

export type TransformReply = (reply: unknown, preserve: unknown, typeMapping: TypeMapping | undefined) => unknown

export interface CapturedCommand {
  readonly definition: CommandDefinition
  /** Words that stand before what `parseCommand` writes: `FCALL name 1`, `EVALSHA sha 1`. */
  readonly prefix: readonly RedisArgument[]
  /** Made for the RESP version of the template; undefined when the reply goes through as it is. */
  readonly transform: TransformReply | undefined
  /** True for a script of the client options, which knows its own text. */
  readonly isScript: boolean
}

type Method = (this: unknown, ...args: readonly unknown[]) => Promise<unknown>

/** Where a method was found on the template. */
export interface MethodSite {
  /** `get`, `GET`, or within a namespace `arrAppend`. */
  readonly name: string
  /** The module or function library, such as `json`; undefined for a method of the client itself. */
  readonly namespace: string | undefined
  readonly method: Method
}

/** All the places of one template: its plain methods and its namespaces. */
export interface CommandSurface {
  readonly methods: readonly MethodSite[]
  readonly namespaces: ReadonlyMap<string, readonly MethodSite[]>
}

/** What a class prototype of node-redis carries although it is no command. */
const NOT_COMMANDS: ReadonlySet<string> = new Set(['constructor', 'Multi'])

/**
 * Lists what a template offers. Throws a sentence that names the unmet expectation when a node-redis release has changed
 * its shape, so that a pool fails when it is made and not in the middle of a request.
 */
export function readSurface(template: object): CommandSurface {
  const prototype = classPrototype(template)
  const methods: MethodSite[] = []
  const namespaces = new Map<string, MethodSite[]>()
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (NOT_COMMANDS.has(name)) continue
    if (typeof property.value === 'function') {
      methods.push({ name, namespace: undefined, method: property.value as Method })
    } else if (property.get !== undefined) {
      namespaces.set(name, readNamespace(name, property.get.call(template) as object))
    }
  }
  if (!methods.some((site) => site.name === 'get')) throw unexpectedShape('the client class carries no method `get`')
  return { methods, namespaces }
}

function classPrototype(template: object): object {
  const instance = Object.getPrototypeOf(template) as object | null
  const prototype = instance === null ? null : (Object.getPrototypeOf(instance) as object | null)
  if (prototype === null || Object.getPrototypeOf(prototype) === Object.prototype) {
    throw unexpectedShape('a client is no longer a proxy of an instance of a generated class')
  }
  return prototype
}

function readNamespace(namespace: string, proxy: object): MethodSite[] {
  const commands = Object.getPrototypeOf(proxy) as object | null
  if (commands === null || commands === Object.prototype) {
    throw unexpectedShape(`the namespace \`${namespace}\` is no longer a proxy of its commands`)
  }
  return Object.entries(commands).map(([name, method]) => ({ name, namespace, method: method as Method }))
}

/** What one call with a note-taking receiver gave: a definition at once, or a promise that rejects with the reason. */
export interface Capture {
  readonly command: CapturedCommand | undefined
  readonly returned: Promise<unknown>
}

/**
 * Takes the definition out of one method by calling it with a receiver that only takes notes. `args` must be good enough
 * for its `parseCommand`, which runs once; where it throws, `returned` rejects with that.
 */
export function captureCommand(site: MethodSite, args: readonly unknown[]): Capture {
  let command: CapturedCommand | undefined
  const take =
    (isScript: boolean) =>
    (
      definition: CommandDefinition,
      parser: CommandParser,
      _options: unknown,
      transform: TransformReply | undefined,
    ) => {
      command = { definition, prefix: prefixOf(definition, parser, args), transform, isScript }
      return Promise.resolve()
    }
  const receiver = {
    _keyPrefix: undefined,
    _commandOptions: undefined,
    _executeCommand: take(false),
    _executeScript: take(true),
    _self: undefined as unknown,
  }
  receiver._self = receiver
  const returned = site.method.apply(receiver, args as unknown[])
  // Whoever needs the reason awaits it; nobody must die of it otherwise.
  returned.catch(() => {})
  return { command, returned }
}

/** For the one case that must not be: the method neither handed a definition over nor failed. */
export function nothingCaptured(name: string): Error {
  return unexpectedShape(`\`${name}\` did not hand its definition over`)
}

/** Functions and scripts write some words themselves before parseCommand goes on: those it does not account for. */
function prefixOf(definition: CommandDefinition, parser: CommandParser, args: readonly unknown[]): RedisArgument[] {
  const own = new ArgumentParser(undefined)
  definition.parseCommand(own, ...args)
  return parser.redisArgs.slice(0, parser.redisArgs.length - own.redisArgs.length)
}

function unexpectedShape(what: string): Error {
  return new Error(`this release of node-redis is not supported: ${what}`)
}
