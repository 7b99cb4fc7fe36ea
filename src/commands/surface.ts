import type {
  RedisClient,
  RedisClientType,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from '../redis-client.js'

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
