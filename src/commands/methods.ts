import type { CallOptions } from '../shard/call.js'
import { Command } from './command.js'
import { type CommandSurface, captureCommand, nothingCaptured, readSurface } from './definitions.js'
import { type Router, run } from './router.js'

/** Where a routed client keeps its router and the options of a view. Symbols, so that no name of a command clashes. */
export const ROUTER: unique symbol = Symbol('router')
export const CALL_OPTIONS: unique symbol = Symbol('call options')

/** What the methods need of the object they are called on: the pool, or a view of it. */
export interface Routed {
  readonly [ROUTER]: Router
  readonly [CALL_OPTIONS]: CallOptions | undefined
}

/** The commands of one client configuration, each learned once for every use: plain, settled, in a transaction. */
export interface CommandSet {
  readonly methods: ReadonlyMap<string, Command>
  readonly namespaces: ReadonlyMap<string, ReadonlyMap<string, Command>>
}

const sets = new WeakMap<object, CommandSet>()

/** The class that node-redis generates per configuration stands for the configuration. */
export function commandSetOf(template: object): CommandSet {
  const configuration = Object.getPrototypeOf(Object.getPrototypeOf(template)) as object
  const known = sets.get(configuration)
  if (known !== undefined) return known
  const surface = readSurface(template)
  probe(surface)
  const set: CommandSet = {
    methods: new Map(surface.methods.map((site) => [site.name, new Command(site)])),
    namespaces: new Map(
      [...surface.namespaces].map(([name, sites]) => [
        name,
        new Map(sites.map((site) => [site.name, new Command(site)])),
      ]),
    ),
  }
  sets.set(configuration, set)
  return set
}

/** Takes one definition at once, so that a node-redis that no longer hands them over is found when a pool is made. */
function probe(surface: CommandSurface): void {
  const site = surface.methods.find(({ name }) => name === 'get')
  if (site === undefined || captureCommand(site, ['key']).command === undefined) throw nothingCaptured('get')
}

/** What a method does with its command; `this` is the object the method was called on. */
export type Performer<Self> = (command: Command) => (this: Self, ...args: unknown[]) => unknown

/**
 * Puts one method for every command and one getter per namespace on a prototype. What it has already, itself or by
 * inheritance (`connect`, `close`, `scanIterator`…), stays.
 */
export function defineCommands<Self extends object>(
  set: CommandSet,
  prototype: object,
  perform: Performer<Self>,
): object {
  for (const [name, command] of set.methods) if (!(name in prototype)) define(prototype, name, perform(command))
  for (const [name, commands] of set.namespaces) {
    const methods: object = {}
    for (const [method, command] of commands) define(methods, method, onOwner(perform(command)))
    defineNamespace(prototype, name, methods)
  }
  return prototype
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true })
}

const OWNER: unique symbol = Symbol('owner')

function onOwner<Self>(method: (this: Self, ...args: unknown[]) => unknown) {
  return function (this: { readonly [OWNER]: Self }, ...args: unknown[]): unknown {
    return method.apply(this[OWNER], args)
  }
}

/** `pool.json` is made once per pool and per view, and bound to it. */
function defineNamespace(prototype: object, name: string, methods: object): void {
  const bound = new WeakMap<object, object>()
  Object.defineProperty(prototype, name, {
    enumerable: false,
    configurable: true,
    get(this: object) {
      const known = bound.get(this)
      if (known !== undefined) return known
      const namespace = Object.create(methods, { [OWNER]: { value: this } }) as object
      bound.set(this, namespace)
      return namespace
    },
  })
}

const prototypes = new WeakMap<CommandSet, Map<object, object>>()

/** What stands between a pool and its class: the commands of one configuration, shared by all such pools. */
export function poolPrototype(template: object, base: object): object {
  const set = commandSetOf(template)
  const perBase = prototypes.get(set) ?? new Map<object, object>()
  prototypes.set(set, perBase)
  const known = perBase.get(base)
  if (known !== undefined) return known
  const made = defineCommands<Routed>(
    set,
    Object.create(base) as object,
    (command) =>
      function (a, b, c, ...rest) {
        // biome-ignore lint/complexity/noArguments: the length alone costs nothing, an array of all arguments would
        return run(this[ROUTER], command, this[CALL_OPTIONS], arguments.length, a, b, c, rest)
      },
  )
  perBase.set(base, made)
  return made
}
