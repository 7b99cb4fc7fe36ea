import { type Channel, channel } from 'node:diagnostics_channel'
import type { PoolEvents } from './events.js'

/**
 * Names of the `node:diagnostics_channel` channels, one per event of the pool. A subscriber hears all pools of the process,
 * without a reference to any: for monitoring that is set up apart from the app. A channel without a subscriber costs
 * nothing but a look.
 *
 * @example
 * diagnostics_channel.subscribe(CHANNELS.failover, ({ name, event }) => log(name, event.shard, event.durationMs))
 */
export const CHANNELS = Object.freeze({
  failover: 'sharded-sentinel-pool:failover',
  reconnect: 'sharded-sentinel-pool:reconnect',
  'shard-down': 'sharded-sentinel-pool:shard-down',
  sentinel: 'sharded-sentinel-pool:sentinel',
  'sentinel-state': 'sharded-sentinel-pool:sentinel-state',
  'subscription-gap': 'sharded-sentinel-pool:subscription-gap',
  'placement-unchecked': 'sharded-sentinel-pool:placement-unchecked',
  'lease-leak': 'sharded-sentinel-pool:lease-leak',
  error: 'sharded-sentinel-pool:error',
  ready: 'sharded-sentinel-pool:ready',
  connect: 'sharded-sentinel-pool:connect',
  reconnecting: 'sharded-sentinel-pool:reconnecting',
  end: 'sharded-sentinel-pool:end',
} as const satisfies Record<keyof PoolEvents, string>)

/** What a subscriber of a channel is given. */
export interface ChannelMessage<Event extends keyof PoolEvents = keyof PoolEvents> {
  /** The pool that the event is of. */
  readonly pool: object
  /** Its `name` option. */
  readonly name: string
  /** What listeners of the event get; undefined for `ready`, `connect`, `reconnecting`, `end`. */
  readonly event: Parameters<PoolEvents[Event]>[0]
}

const channels = Object.fromEntries(Object.entries(CHANNELS).map(([event, name]) => [event, channel(name)])) as Record<
  keyof PoolEvents,
  Channel
>

/** Tells the subscribers of an event's channel, if there are any. A subscriber that throws does not reach us. */
export function publish(event: keyof PoolEvents, pool: object, name: string, detail: unknown): void {
  const target = channels[event]
  if (target.hasSubscribers) target.publish({ pool, name, event: detail })
}
