import type { CallOptions } from '../shard/call.js'
import { Command } from './command.js'
import { readSurface } from './definitions.js'
import { type Router, run } from './router.js'

/** Where a routed client keeps its router and the options of a `with…` view. Symbols, so that no name of a command clashes. */
export const ROUTER: unique symbol = Symbol('router')
export const CALL_OPTIONS: unique symbol = Symbol('call options')

export interface Routed {
  readonly [ROUTER]: Router
  readonly [CALL_OPTIONS]: CallOptions | undefined
}

/** One prototype per client configuration and pool class, shared by all pools of both. */
const prototypes = new WeakMap<object, Map<object, object>>()

/**
 * A prototype object between a pool and its class: one method for every command of the template, and one getter per
 * namespace. What the class has itself (`connect`, `close`, `scanIterator`…) is left to the class.
 */
export function commandPrototype(template: object, base: object): object {
  const configuration = Object.getPrototypeOf(Object.getPrototypeOf(template)) as object
  let perBase = prototypes.get(configuration)
  if (perBase === undefined) prototypes.set(configuration, (perBase = new Map()))
  let prototype = perBase.get(base)
  if (prototype === undefined) perBase.set(base, (prototype = makePrototype(template, base)))
  return prototype
}

function makePrototype(template: object, base: object): object {
  const prototype = Object.create(base) as Record<string, unknown>
  const surface = readSurface(template)
  for (const site of surface.methods) {
    if (!(site.name in base)) define(prototype, site.name, methodOf(new Command(site)))
  }
  for (const [name, sites] of surface.namespaces) {
    const methods: object = {}
    for (const site of sites) define(methods, site.name, namespaceMethodOf(new Command(site)))
    defineNamespace(prototype, name, methods)
  }
  return prototype
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true })
}

function methodOf(command: Command) {
  return function (this: Routed, ...args: unknown[]): Promise<unknown> {
    return run(this[ROUTER], command, args, this[CALL_OPTIONS])
  }
}

const OWNER: unique symbol = Symbol('owner')

function namespaceMethodOf(command: Command) {
  return function (this: { readonly [OWNER]: Routed }, ...args: unknown[]): Promise<unknown> {
    const owner = this[OWNER]
    return run(owner[ROUTER], command, args, owner[CALL_OPTIONS])
  }
}

/** `pool.json` is made once per pool and per `with…` view, and bound to it. */
function defineNamespace(prototype: object, name: string, methods: object): void {
  const bound = new WeakMap<object, object>()
  Object.defineProperty(prototype, name, {
    enumerable: false,
    configurable: true,
    get(this: object) {
      let namespace = bound.get(this)
      if (namespace === undefined) {
        namespace = Object.create(methods, { [OWNER]: { value: this } }) as object
        bound.set(this, namespace)
      }
      return namespace
    },
  })
}
