import { UnsupportedCommandError } from '../errors.js'
import type { RedisArgument } from '../redis-client.js'
import { mergeOptions, type ViewOptions } from './call-options.js'
import type { Command } from './command.js'
import { CALL_OPTIONS, commandSetOf, defineCommands, ROUTER, type Routed } from './methods.js'
import { createQueue } from './multi.js'
import type { ChannelNames, MessageListener, SubscriptionKind } from './pub-sub.js'
import { sendRaw } from './raw-command.js'
import { scanKey, scanShards } from './scan-iterators.js'
import { runSettled } from './settled.js'

/**
 * What node-redis's client class has besides commands, as properties for the prototype of the routed client. They are
 * typed by `ClientMethods` in surface.ts. None keeps state of its own, so that all work on views as well.
 */
export const clientMembers: Record<string, unknown> = {
  multi,
  MULTI: multi,
  pipeline(this: Routed) {
    return createQueue(this[ROUTER], this[CALL_OPTIONS], 'pipeline')
  },
  sendCommand,
  ...pubSubMembers(),
  ...iterators(),
  ...unsupportedMembers(),
  // node's emitter has these two and eventemitter3 has not; libraries that share a client call them.
  setMaxListeners(this: unknown) {
    return this
  },
  getMaxListeners: () => Number.POSITIVE_INFINITY,
}

function multi(this: Routed) {
  return createQueue(this[ROUTER], this[CALL_OPTIONS], 'transaction')
}

/** `(words, options?)`, `(key, words, options?)` or, as node-redis's cluster has it, `(key, isReadonly, words, options?)`. */
async function sendCommand(this: Routed, ...given: unknown[]): Promise<unknown> {
  const at = given.findIndex(Array.isArray)
  const words = given[at] as RedisArgument[]
  const changes = given[at + 1] as ViewOptions | undefined
  const base = this[CALL_OPTIONS]
  const options = changes === undefined ? base : mergeOptions(base, this[ROUTER].typeMapping, changes)
  const key = at > 0 ? (given[0] as RedisArgument | undefined) : undefined
  const readOnly = at > 1 ? given[1] === true : undefined
  return sendRaw(this[ROUTER], words, key === undefined ? undefined : { key, readOnly }, options)
}

function pubSubMembers(): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  const kinds: readonly [SubscriptionKind, string][] = [
    ['subscribe', 'unsubscribe'],
    ['pSubscribe', 'pUnsubscribe'],
    ['sSubscribe', 'sUnsubscribe'],
  ]
  for (const [kind, undo] of kinds) {
    const enter = async function (
      this: Routed,
      channels: ChannelNames,
      listener: MessageListener,
      bufferMode?: boolean,
    ) {
      if (typeof listener !== 'function') throw new TypeError(`${kind} needs a listener function`)
      const gate = this[ROUTER].context.waitUntilOpen(this[CALL_OPTIONS])
      if (gate !== undefined) await gate
      await this[ROUTER].pubSub.subscribe(kind, channels, listener, bufferMode)
    }
    const leave = function (this: Routed, channels?: ChannelNames, listener?: MessageListener, bufferMode?: boolean) {
      return this[ROUTER].pubSub.unsubscribe(kind, channels, listener, bufferMode)
    }
    members[kind] = members[kind.toUpperCase()] = enter
    members[undo] = members[undo.toUpperCase()] = leave
  }
  return members
}

type CursorOptions = { readonly cursor?: RedisArgument | undefined } | undefined

function iterators(): Record<string, unknown> {
  const ofKey = (name: string, read: (page: never) => unknown) =>
    async function* (this: Routed, key: RedisArgument, options?: CursorOptions) {
      const pages = scanKey(this[ROUTER], commandNamed(this, name), key, options, this[CALL_OPTIONS])
      for await (const page of pages) yield read(page as never)
    }
  return {
    async *scanIterator(this: Routed, options?: CursorOptions) {
      const pages = scanShards(this[ROUTER], commandNamed(this, 'scan'), options, this[CALL_OPTIONS])
      for await (const page of pages) yield (page as unknown as { keys: unknown }).keys
    },
    hScanIterator: ofKey('hScan', (page: { entries: unknown }) => page.entries),
    hScanValuesIterator: ofKey('hScan', (page: { entries: { value: unknown }[] }) =>
      page.entries.map(({ value }) => value),
    ),
    hScanNoValuesIterator: ofKey('hScanNoValues', (page: { fields: unknown }) => page.fields),
    sScanIterator: ofKey('sScan', (page: { members: unknown }) => page.members),
    zScanIterator: ofKey('zScan', (page: { members: unknown }) => page.members),
  }
}

function commandNamed(routed: Routed, name: string): Command {
  return commandSetOf(routed[ROUTER].context.template).methods.get(name)!
}

/** Methods of node-redis's class that make sense on one connection only. */
function unsupportedMembers(): Record<string, unknown> {
  const why = 'it changes one connection; take one with `pool.use(key, …)`'
  const names = ['select', 'watch', 'unwatch', 'monitor']
  const members: Record<string, unknown> = {}
  for (const name of [...names, ...names.map((one) => one.toUpperCase()), 'reset']) {
    members[name] = () => Promise.reject(new UnsupportedCommandError(name.toUpperCase(), why))
  }
  return members
}

const settledOf = new WeakMap<object, object>()

/** `pool.settled`, made once per pool and per view. */
export function settledMethods(routed: Routed): object {
  const known = settledOf.get(routed)
  if (known !== undefined) return known
  const set = commandSetOf(routed[ROUTER].context.template)
  const methods = defineCommands<object>(
    set,
    Object.create(null) as object,
    (command) =>
      (...args: unknown[]) =>
        runSettled(routed[ROUTER], command, args, routed[CALL_OPTIONS]),
  )
  settledOf.set(routed, methods)
  return methods
}
