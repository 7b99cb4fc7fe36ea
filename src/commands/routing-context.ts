import type { RedisArgument, TypeMapping } from '../redis-client.js'
import type { CallOptions, ShardPort } from '../shard/call.js'
import type { SubscriptionGap } from './pub-sub.js'
import type { SubscriberConnection } from './subscriber-link.js'

/** What the pool hands to its commands. */
export interface RoutingContext {
  readonly ring: { locate(key: string | Uint8Array): number }
  /** In the order of the ring's indexes. The array may be filled after construction, before the pool opens. */
  readonly shards: readonly ShardPort[]
  /** `ConnectionFactory.template()`: carries every command with the user's modules, functions and scripts. */
  readonly template: object
  readonly keyPrefix?: RedisArgument | undefined
  /** The pool's own `client.commandOptions.typeMapping`. */
  readonly typeMapping?: TypeMapping | undefined
  /**
   * Undefined while the pool is open. While `connect()` is pending: a promise that resolves when it is done, with the call's
   * options, which say since when it has waited; it rejects at the call's time-out, the signal, or when too many wait. Before
   * `connect()` and after `close()`: a promise that rejects with PoolClosedError.
   */
  waitUntilOpen(options: CallOptions | undefined): Promise<CallOptions | undefined> | undefined
  /** Deadline of a call in ms, to be added to the wait of a blocking command. Absent or 0: none. */
  readonly commandTimeoutMs?: number | undefined
  /**
   * Calls back with a shard's index each time that shard has connections of a new generation: a failover, or a server that
   * was started again. Cursors of the old one mean nothing then. Called once, when the pool is made.
   */
  onMasterChanged?(listener: (shardIndex: number) => void): void
  /** What `multi()` does with keys of several shards. */
  readonly crossShardMulti?: 'refuse' | 'split' | undefined
  /** A new connection to the shard's present, verified master, for subscriptions. Rejects within a bound. */
  openSubscriber?(shardIndex: number): Promise<SubscriberConnection>
  /** Subscriptions of a shard were interrupted and are back. */
  onSubscriptionGap?(gap: SubscriptionGap): void
  /** A user's message listener threw. */
  onListenerError?(error: unknown): void
}
