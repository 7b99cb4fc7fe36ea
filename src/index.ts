/** Everything public. The ring alone, without Redis: `sharded-sentinel-pool/ring`. Servers for tests: `…/testing`. */
export { type Address, formatAddress, parseAddress } from './address.js'
export { CHANNELS, type ChannelMessage } from './channels.js'
export type { ViewOptions } from './commands/call-options.js'
export type { RoutedView } from './commands/routed-client.js'
export type { SettledReply } from './commands/settled.js'
export * from './errors.js'
export type {
  FailoverEvent,
  LeaseLeakEvent,
  PlacementUncheckedEvent,
  PoolEvents,
  RebuildReason,
  ReconnectEvent,
  SentinelEvent,
  SentinelStateEvent,
  ShardDownEvent,
  ShardState,
  SubscriptionGapEvent,
} from './events.js'
export { type Health, type HealthOptions, type HealthSource, healthOf, type ShardHealth } from './health.js'
export * from './inspect/index.js'
export { nearest } from './nearest.js'
export type { AddressMap, LeasePoolOptions, MasterOptions, PoolOptions } from './options.js'
export { PLACEMENT_KEY } from './placement-guard.js'
export { ShardedSentinelPool, type ShardedSentinelPoolConstructor } from './pool.js'
export {
  AbortError,
  type ClientOptions,
  defineScript,
  ErrorReply,
  MultiErrorReply,
  RESP_TYPES,
  WatchError,
} from './redis-client.js'
export * from './ring/index.js'
export type { ResolvedAddress, Resolver } from './sentinel/index.js'
export type { LeaseState, ReadFrom, ReplicaAck, RetryPolicy } from './shard/call.js'
export type { PoolLease, ShardHandle } from './shard-handle.js'
export type { PoolStats, RoundTripStats, SentinelStats, ShardStats } from './stats.js'
