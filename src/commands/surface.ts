import type {
  RedisArgument,
  RedisClient,
  RedisClientType,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from '../redis-client.js'
import type { ViewOptions } from './call-options.js'
import type { SettledCommands } from './settled.js'

/**
 * The typed face of the pool, derived from node-redis's own client type, so that arguments and replies are exactly its
 * own, whatever release is installed, and no path inside node-redis appears in our declarations.
 */

type Bare = Record<never, never>

/** Names of node-redis's commands, in both spellings: what the client type has and its class has not. */
export type CommandName = Exclude<
  keyof RedisClientType<Bare, Bare, Bare, 3, Bare>,
  keyof RedisClient<Bare, Bare, Bare, 3, Bare>
>

/** Every command method, with node-redis's signature and reply type. */
export type CommandMethods<RESP extends RespVersions, TM extends TypeMapping> = Pick<
  RedisClientType<Bare, Bare, Bare, RESP, TM>,
  CommandName
>

/** The namespaces and scripts that come from the client options: modules, functions, scripts. */
export type UserMethods<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> = Omit<RedisClientType<M, F, S, RESP, TM>, keyof RedisClientType<Bare, Bare, Bare, 3, Bare>>

/** What node-redis's client class itself offers and the pool does too, with the same signatures. */
export interface ClientMethods<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
> extends Pick<RedisClientType<M, F, S, RESP, TM>, 'multi' | 'MULTI' | PubSubName>,
    Pipelines<RedisClientType<M, F, S, RESP, TM>> {
  /**
   * Any command by its words, routed by the key specification that Redis publishes for it; the reply comes as it is. For
   * a command the table does not know a server is asked once. With a key (and, as node-redis's cluster has it, a flag)
   * before the words, that key decides the shard.
   */
  readonly sendCommand: RedisClientType<M, F, S, RESP, TM>['sendCommand'] & KeyedSendCommand
  /** Every command, with what each shard answered instead of a rejection when some fail. */
  readonly settled: SettledCommands<RESP, TM>
  /** Pages of keys over all shards: each key at least once, a shard anew when its master changes under the walk. */
  scanIterator: Iterator<M, F, S, RESP, TM, 'scanIterator'>
  hScanIterator: Iterator<M, F, S, RESP, TM, 'hScanIterator'>
  hScanValuesIterator: Iterator<M, F, S, RESP, TM, 'hScanValuesIterator'>
  hScanNoValuesIterator: Iterator<M, F, S, RESP, TM, 'hScanNoValuesIterator'>
  sScanIterator: Iterator<M, F, S, RESP, TM, 'sScanIterator'>
  zScanIterator: Iterator<M, F, S, RESP, TM, 'zScanIterator'>
}

/**
 * `pipeline()` has the type of `multi()`. Said of the client as a whole, the compiler compares two pools by their clients
 * alone; said of the one member it compares the chain of every command, which takes it seconds.
 */
export type Pipelines<Client extends { readonly multi: unknown }> = {
  /** Like `multi()`, run as a pipeline: commands of any shards, one write per shard, not atomic. */
  readonly [Name in 'pipeline']: Client['multi']
}

type PubSubName =
  | 'subscribe'
  | 'unsubscribe'
  | 'pSubscribe'
  | 'pUnsubscribe'
  | 'sSubscribe'
  | 'sUnsubscribe'
  | Uppercase<'subscribe' | 'unsubscribe' | 'pSubscribe' | 'pUnsubscribe' | 'sSubscribe' | 'sUnsubscribe'>

/** The signature of an iterator without the receiver that node-redis asks for. */
type Iterator<
  M extends RedisModules,
  F extends RedisFunctions,
  S extends RedisScripts,
  RESP extends RespVersions,
  TM extends TypeMapping,
  Name extends
    | 'scanIterator'
    | 'hScanIterator'
    | 'hScanValuesIterator'
    | 'hScanNoValuesIterator'
    | 'sScanIterator'
    | 'zScanIterator',
> = OmitThisParameter<RedisClientType<M, F, S, RESP, TM>[Name]>

/** `sendCommand` with the key that decides the shard, alone or as node-redis's cluster spells it. */
export interface KeyedSendCommand {
  <T = unknown>(key: RedisArgument, words: readonly RedisArgument[], options?: ViewOptions): Promise<T>
  <T = unknown>(
    key: RedisArgument | undefined,
    isReadonly: boolean | undefined,
    words: readonly RedisArgument[],
    options?: ViewOptions,
  ): Promise<T>
}
