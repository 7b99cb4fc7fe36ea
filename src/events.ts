import { EventEmitter } from 'eventemitter3'
import type { Address } from './address.js'
import { InvalidOptionsError } from './errors.js'
import { edits } from './nearest.js'

/**
 * The one door to eventemitter3, whose `error` event without a listener does not throw, which R17 relies on. A name that
 * can only be a typo for one of ours is refused; any other name may be listened to, as libraries do.
 */
export class TypedEmitter<E extends EventEmitter.ValidEventTypes> extends EventEmitter<E> {
  override on<T extends EventEmitter.EventNames<E>>(event: T, listener: EventEmitter.EventListener<E, T>): this {
    refuseTypo(event)
    return super.on(event, listener)
  }

  override addListener<T extends EventEmitter.EventNames<E>>(
    event: T,
    listener: EventEmitter.EventListener<E, T>,
  ): this {
    return this.on(event, listener)
  }

  override once<T extends EventEmitter.EventNames<E>>(event: T, listener: EventEmitter.EventListener<E, T>): this {
    refuseTypo(event)
    return super.once(event, listener)
  }
}

function refuseTypo(event: unknown): void {
  if (typeof event !== 'string' || Object.hasOwn(EVENT_NAMES, event) || event.length < 4) return
  const meant = Object.keys(EVENT_NAMES).find((name) => edits(event.toLowerCase(), name) <= 2)
  if (meant === undefined) return
  throw new InvalidOptionsError('event', `there is no event '${event}'; did you mean '${meant}'?`)
}

/** Why a shard's connections were made anew. One run has one reason: that of the first trigger. */
export type RebuildReason =
  | 'connect'
  | 'failover-progress'
  | 'switch-master'
  | 'read-only-reply'
  | 'master-down-reply'
  | 'connection-lost'
  | 'call-timeout'
  | 'watch-gap'
  | 'periodic-check'

/** Drawn, with every transition, in `shard/states.ts`. */
export type ShardState = 'connecting' | 'ready' | 'holding' | 'rebuilding' | 'closed'

/** A shard has moved to another address, and the new one has proved by ROLE that it is a master. One event per failover. */
export interface FailoverEvent {
  readonly shard: string
  readonly from: Address | undefined
  readonly to: Address
  readonly reason: RebuildReason
  readonly generation: number
  readonly configEpoch: number | undefined
  /** From the trigger (the first message, reply or loss that started the rebuild) to the verified address, in ms. */
  readonly durationMs: number
}

/**
 * A shard's connections were made anew at the same address: the server restarted, or its connections were cut. Or it was not
 * there when the pool started (`requireAllShards: false`) and has joined.
 */
export interface ReconnectEvent {
  readonly shard: string
  readonly address: Address
  readonly reason: RebuildReason
  readonly generation: number
  readonly durationMs: number
}

/** A shard has no usable connection since now; it is being rebuilt. One event per outage. */
export interface ShardDownEvent {
  readonly shard: string
  readonly address: Address | undefined
  readonly reason: RebuildReason
  readonly cause: unknown
}

/** What a sentinel announced about one of the pool's masters, passed on as it came. */
export interface SentinelEvent {
  readonly sentinel: Address
  /** Sentinel's channel, such as `+switch-master` or `+odown`. */
  readonly event: string
  readonly masterName: string
  readonly message: string
}

/** How well the sentinels can be heard. `degraded`: none; data traffic goes on and a periodic check replaces them. */
export interface SentinelStateEvent {
  readonly state: 'watching' | 'degraded'
  readonly reachable: number
  readonly known: number
}

/** The placement guard could not read or write its key and lets the pool go on. */
export interface PlacementUncheckedEvent {
  readonly shard: string
  readonly cause: unknown
}

/** A shard's subscriptions were interrupted and are back: messages published in between were not heard. */
export interface SubscriptionGapEvent {
  readonly shard: string
  /** Channels and patterns of that shard, once each. */
  readonly channels: readonly string[]
  /** From the end of the old connection to the confirmed subscriptions, in ms. */
  readonly durationMs: number
  readonly cause: Error
}

/** A lease has been out for longer than `leakWarningMs`. */
export interface LeaseLeakEvent {
  readonly shard: string
  readonly ageMs: number
  /** Where it was taken. */
  readonly stack: string | undefined
}

/** The pool's events and what their listeners are given. */
export interface PoolEvents {
  /** A shard has moved to another, verified master. */
  failover: (event: FailoverEvent) => void
  /** A shard's connections were made anew at the same address. */
  reconnect: (event: ReconnectEvent) => void
  /** A shard has no usable connection since now. */
  'shard-down': (event: ShardDownEvent) => void
  /** A sentinel announced something about one of the pool's masters. */
  sentinel: (event: SentinelEvent) => void
  /** No sentinel can be heard any more, or one can again. */
  'sentinel-state': (event: SentinelStateEvent) => void
  /** The placement guard lets the pool go on unchecked. */
  'placement-unchecked': (event: PlacementUncheckedEvent) => void
  /** Subscriptions were interrupted and are back. */
  'subscription-gap': (event: SubscriptionGapEvent) => void
  /** A lease has been out for longer than `leakWarningMs`. */
  'lease-leak': (event: LeaseLeakEvent) => void
  /** Background trouble, one per outage. Never thrown when nobody listens. */
  error: (error: Error) => void
  /** All shards are verified: `connect()` is about to resolve. */
  ready: () => void
  /** `connect()` has begun; as node-redis has it. */
  connect: () => void
  /** Follows every `shard-down`; as node-redis has it. */
  reconnecting: () => void
  /** The pool is closed; as node-redis has it. */
  end: () => void
}

/** Every event there is; the compiler keeps it complete. */
const EVENT_NAMES: Readonly<Record<keyof PoolEvents, true>> = {
  failover: true,
  reconnect: true,
  'shard-down': true,
  sentinel: true,
  'sentinel-state': true,
  'placement-unchecked': true,
  'subscription-gap': true,
  'lease-leak': true,
  error: true,
  ready: true,
  connect: true,
  reconnecting: true,
  end: true,
}
