import { assertEncodable, type RedisArgument } from '../redis-client.js'
import type { ShardMap } from './shard-map.js'
import { type SubscriberConnection, SubscriberLink } from './subscriber-link.js'

/** The three kinds of subscription, by the names node-redis's methods have. */
export type SubscriptionKind = 'subscribe' | 'pSubscribe' | 'sSubscribe'

/** Names of channels as callers give them: one or more. */
export type ChannelNames = RedisArgument | readonly RedisArgument[]

/** What hears the messages. With `bufferMode` both come as bytes. */
export type MessageListener = (message: never, channel: never) => unknown

/** One listener of one channel or pattern. It outlives every connection it is carried by. */
export interface Subscription {
  readonly kind: SubscriptionKind
  readonly channel: string
  readonly listener: MessageListener
  readonly bufferMode: boolean
  /** What node-redis calls: the listener, kept from ending the connection by throwing. */
  readonly guarded: MessageListener
}

/** A shard's subscriptions were interrupted and are back; what was published in between has not been heard. */
export interface SubscriptionGap {
  readonly shard: string
  /** Channels and patterns of that shard, once each. */
  readonly channels: readonly string[]
  readonly durationMs: number
  readonly cause: Error
}

/** What the pool gives to its subscriptions. */
export interface PubSubContext {
  readonly map: ShardMap
  /** A new connection to the shard's present master, verified; the caller destroys it. Rejects within a bound. */
  openSubscriber(shardIndex: number): Promise<SubscriberConnection>
  onGap(gap: SubscriptionGap): void
  /** A listener threw; nothing else may suffer from it. */
  onListenerError(error: unknown): void
}

/**
 * All subscriptions of a pool. A channel lives on the shard that the ring gives its name, where `publish` sends its
 * messages; a pattern may match any channel, so it lives on every shard, and hears each message once, since a message is
 * on one shard only. Keyspace notifications are each server's own, so their channels live on every shard too.
 *
 * What is subscribed is kept here; connections come and go. After a failover the shard's link opens a new one, takes up
 * what is wanted by then, and tells of the gap.
 */
export class PubSub {
  readonly #context: PubSubContext
  readonly #subscriptions = new Set<Subscription>()
  readonly #links = new Map<number, SubscriberLink>()

  constructor(context: PubSubContext) {
    this.#context = context
  }

  /** Resolves when every shard concerned has confirmed. When one cannot, none of it stays and the promise rejects. */
  async subscribe(
    kind: SubscriptionKind,
    channels: ChannelNames,
    listener: MessageListener,
    bufferMode = false,
  ): Promise<void> {
    const added: Subscription[] = []
    const all = namesOf(kind, channels).map(
      (channel) =>
        this.#find(kind, channel, listener, bufferMode) ?? this.#make(kind, channel, listener, bufferMode, added),
    )
    try {
      await settleAll(all.flatMap((one) => this.#shardsOf(one).map((index) => this.#linkOf(index).add(one))))
    } catch (error) {
      for (const one of added) await this.#drop(one)
      throw error
    }
  }

  /** Without a listener: all listeners of the channels; without channels: all of this kind. Holds also during a gap. */
  async unsubscribe(
    kind: SubscriptionKind,
    channels?: ChannelNames | null | undefined,
    listener?: MessageListener | undefined,
    bufferMode?: boolean | undefined,
  ): Promise<void> {
    // As node-redis: no channels at all are all of them.
    const names = channels === undefined || channels === null ? undefined : new Set(namesOf(kind, channels))
    const going = [...this.#subscriptions].filter(
      (one) =>
        one.kind === kind &&
        (names === undefined || names.has(one.channel)) &&
        (listener === undefined || (one.listener === listener && one.bufferMode === (bufferMode ?? false))),
    )
    await Promise.all(going.map((one) => this.#drop(one)))
  }

  get active(): boolean {
    return this.#subscriptions.size > 0
  }

  /** The shard has a new master, or its connections are new: what it carries moves to a new connection at once. */
  masterChanged(shardIndex: number): void {
    this.#links.get(shardIndex)?.renew()
  }

  /** Ends every subscription and closes every connection, at once. */
  close(): void {
    this.#subscriptions.clear()
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
  }

  #find(kind: SubscriptionKind, channel: string, listener: MessageListener, bufferMode: boolean) {
    for (const one of this.#subscriptions) {
      if (one.kind === kind && one.channel === channel && one.listener === listener && one.bufferMode === bufferMode) {
        return one
      }
    }
    return undefined
  }

  #make(
    kind: SubscriptionKind,
    channel: string,
    listener: MessageListener,
    bufferMode: boolean,
    added: Subscription[],
  ): Subscription {
    const guarded: MessageListener = (message, from) => {
      // What was on its way when it was unsubscribed.
      if (!this.#subscriptions.has(one)) return undefined
      try {
        return listener(message, from)
      } catch (error) {
        return this.#context.onListenerError(error)
      }
    }
    const one: Subscription = { kind, channel, listener, bufferMode, guarded }
    this.#subscriptions.add(one)
    added.push(one)
    return one
  }

  async #drop(one: Subscription): Promise<void> {
    this.#subscriptions.delete(one)
    await Promise.all(this.#shardsOf(one).map((index) => this.#links.get(index)?.remove(one)))
  }

  #shardsOf({ kind, channel }: Subscription): number[] {
    const { map } = this.#context
    if (kind === 'pSubscribe' || isServersOwn(channel)) return map.shards.map((_, index) => index)
    return [map.shards.indexOf(map.shardOf(channel))]
  }

  #linkOf(index: number): SubscriberLink {
    const known = this.#links.get(index)
    if (known !== undefined) return known
    const link = new SubscriberLink({
      shard: this.#context.map.shards[index]!.name,
      open: () => this.#context.openSubscriber(index),
      onGap: (gap) => this.#context.onGap(gap),
      onEmpty: () => this.#links.delete(index),
    })
    this.#links.set(index, link)
    return link
  }
}

/** Every server publishes what happens to its own keys, whoever the ring gives the channel's name to. */
function isServersOwn(channel: string): boolean {
  return channel.startsWith('__keyspace@') || channel.startsWith('__keyevent@')
}

/** @throws TypeError for what is no name, in node-redis's words; messages are matched by text, so bytes must be UTF-8 */
function namesOf(kind: SubscriptionKind, channels: ChannelNames): string[] {
  const list = (Array.isArray(channels) ? channels : [channels]) as readonly RedisArgument[]
  assertEncodable([kind, ...list])
  return list.map((channel) => {
    if (typeof channel === 'string') return channel
    const text = channel.toString()
    if (Buffer.from(text).equals(channel)) return text
    throw new TypeError('the name of a channel must be text or its bytes in UTF-8')
  })
}

/** Waits for all, then throws the first failure: no part goes on behind a rejection. */
async function settleAll(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(promises)) if (end.status === 'rejected') throw end.reason
}
