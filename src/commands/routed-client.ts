import { type PoolEvents, TypedEmitter } from '../events.js'
import type {
  RedisArgument,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from '../redis-client.js'
import type { CallOptions, ReadFrom, ReplicaAck } from '../shard/call.js'
import { prefixKey } from './argument-parser.js'
import { checkReplicaAck, mergeOptions, type ViewOptions } from './call-options.js'
import { clientMembers, settledMethods } from './client-members.js'
import { CALL_OPTIONS, poolPrototype, ROUTER } from './methods.js'
import { Router } from './router.js'
import type { RoutingContext } from './routing-context.js'
import type { ClientMethods, CommandMethods, UserMethods } from './surface.js'

/** A routed client under other call settings, with the methods of the user's modules, functions and scripts. */
export type RoutedView<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> = RoutedClient<M, F, S, RESP, TM> & UserMethods<M, F, S, RESP, TM>

// The commands are no members written down here: they are put on a prototype from node-redis's own definitions, and
// this merging is what tells the compiler so.
export interface RoutedClient<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> extends CommandMethods<RESP, TM>,
    ClientMethods<M, F, S, RESP, TM> {}

/**
 * Every command of a node-redis client, each sent to the shard that owns its keys. The pool adds connections and a life
 * cycle to it. What goes where is written down in docs/commands.md.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: see above
export abstract class RoutedClient<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> extends TypedEmitter<PoolEvents> {
  /** @internal */
  readonly [ROUTER]: Router
  /** @internal */
  readonly [CALL_OPTIONS]: CallOptions | undefined

  /** The same pool with a type mapping of its own for the calls made through it. */
  declare readonly withTypeMapping: <N extends TypeMapping>(typeMapping: N) => RoutedView<M, F, S, RESP, N>
  /** The same pool with settings for the calls made through it; those not named stay as they are. Make it once and keep it. */
  declare readonly withCommandOptions: <N extends TypeMapping = TM>(
    options?: ViewOptions<N>,
  ) => RoutedView<M, F, S, RESP, N>
  /**
   * The same pool, its calls rejecting with node-redis's AbortError as soon as the signal aborts. What has not been sent by
   * then is not sent at all; a call in flight may have run.
   */
  declare readonly withAbortSignal: (signal: AbortSignal) => RoutedView<M, F, S, RESP, TM>
  /** Taken for node-redis's sake; changes nothing here. */
  declare readonly asap: () => RoutedView<M, F, S, RESP, TM>
  /** The same pool, its reads going to replicas or to the master. */
  declare readonly withReadFrom: (readFrom: ReadFrom) => RoutedView<M, F, S, RESP, TM>
  /**
   * The same pool, its writes, transactions and pipelines resolving only when so many replicas have them; else they reject
   * with NotReplicatedError. They go out on a connection of their own (WAIT blocks it), one of the shard's `pool.max`.
   * @throws InvalidOptionsError
   */
  declare readonly withReplicaAck: (ack: ReplicaAck) => RoutedView<M, F, S, RESP, TM>

  protected constructor(context: RoutingContext) {
    super()
    Object.setPrototypeOf(this, poolPrototype(context.template, new.target.prototype as object))
    this[ROUTER] = new Router(context)
    this[CALL_OPTIONS] = undefined
  }

  /** True while a listener of this pool hears a channel or a pattern. */
  get isPubSubActive(): boolean {
    return this[ROUTER].pubSub.active
  }

  /** For the end of the pool's life: all subscriptions end and their connections are destroyed, at once. */
  protected endSubscriptions(): void {
    this[ROUTER].pubSub.close()
  }

  /** The index of the shard that owns a key given as in a command, so `keyPrefix` is put before it. No I/O. */
  protected shardIndexOf(key: RedisArgument): number {
    const { keyPrefix } = this[ROUTER]
    return this[ROUTER].map.indexOf(keyPrefix === undefined ? key : prefixKey(keyPrefix, key))
  }
}

const views = {
  withTypeMapping(this: AnyRouted, typeMapping: TypeMapping) {
    return viewOf(this, { typeMapping })
  },
  withCommandOptions(this: AnyRouted, options: ViewOptions<TypeMapping> | undefined) {
    return viewOf(this, options ?? {})
  },
  withAbortSignal(this: AnyRouted, abortSignal: AbortSignal) {
    return viewOf(this, { abortSignal })
  },
  withReadFrom(this: AnyRouted, readFrom: ReadFrom) {
    return viewOf(this, { readFrom })
  },
  // node-redis's queue-jumping view. Commands of a shard share one queue with everybody, so here it changes nothing.
  asap(this: AnyRouted) {
    return viewOf(this, {})
  },
  withReplicaAck(this: AnyRouted, ack: ReplicaAck) {
    return viewOf(this, { replicaAck: checkReplicaAck(ack) })
  },
}

type AnyRouted = RoutedClient<RedisModules, RedisFunctions, RedisScripts, RespVersions, TypeMapping>

/** An object that is the pool in all but its call settings. State is therefore never kept in `#private` fields here. */
function viewOf(client: AnyRouted, changes: ViewOptions<TypeMapping>): AnyRouted {
  const options = mergeOptions(client[CALL_OPTIONS], client[ROUTER].typeMapping, changes)
  const view = Object.create(client, { [CALL_OPTIONS]: { value: options } }) as AnyRouted
  // eventemitter3 keeps its state in plain fields, which a view would shadow: listeners are the pool's, whoever adds them.
  for (const name of EMITTER_METHODS) Object.defineProperty(view, name, { value: emitterMethod(client, view, name) })
  return view
}

const EMITTER_METHODS = ['on', 'addListener', 'once', 'off', 'removeListener', 'removeAllListeners', 'emit'] as const

function emitterMethod(client: AnyRouted, view: AnyRouted, name: (typeof EMITTER_METHODS)[number]) {
  const method = client[name] as (...args: unknown[]) => unknown
  return (...args: unknown[]) => {
    const result = method.apply(client, args)
    return result === client ? view : result
  }
}

for (const [name, value] of Object.entries({ ...clientMembers, ...views })) {
  Object.defineProperty(RoutedClient.prototype, name, { value, writable: true, configurable: true })
}
Object.defineProperty(RoutedClient.prototype, 'settled', {
  configurable: true,
  get(this: AnyRouted) {
    return settledMethods(this)
  },
})
