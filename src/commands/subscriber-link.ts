import { Backoff } from '../async/backoff.js'
import { sleep } from '../async/sleep.js'
import type { Subscription, SubscriptionGap, SubscriptionKind } from './pub-sub.js'

/** What of a connection the subscriptions use; `Connection` of redis-client.ts is one. */
export interface SubscriberConnection {
  /** node-redis's client; only its pub/sub methods are called. */
  readonly client: object
  /** Calls back once when the connection has ended, at once when it has already. */
  onEnd(listener: (cause: Error) => void): void
  destroy(cause?: Error): void
}

type PubSubMethods = Record<
  SubscriptionKind | 'unsubscribe' | 'pUnsubscribe' | 'sUnsubscribe',
  (channel: string, listener: unknown, bufferMode: boolean) => Promise<unknown>
>

const UNDO = { subscribe: 'unsubscribe', pSubscribe: 'pUnsubscribe', sSubscribe: 'sUnsubscribe' } as const

export interface LinkSettings {
  readonly shard: string
  open(): Promise<SubscriberConnection>
  onGap(gap: SubscriptionGap): void
  /** The last subscription has gone, and with it the connection. */
  onEmpty(): void
}

/**
 * One shard's subscriber: at most one connection, open while something is wanted of it.
 *
 *     idle ── add ──▶ opening ──▶ live ── end, renew ──▶ opening, with waits between tries ──▶ live (gap told)
 *       ▲                          │
 *       └──── last removed ────────┘        close: the end
 */
export class SubscriberLink {
  readonly #settings: LinkSettings
  readonly #wanted = new Set<Subscription>()
  readonly #abort = new AbortController()
  #connection: SubscriberConnection | undefined
  /** What the present connection carries, or is about to. */
  #attached = new Set<Subscription>()
  #opening: Promise<void> | undefined
  #reopening = false
  #generation = 0

  constructor(settings: LinkSettings) {
    this.#settings = settings
  }

  /** Resolves when the server has confirmed it, also when the connection had to be made anew meanwhile. */
  async add(one: Subscription): Promise<void> {
    if (this.#wanted.has(one) && this.#connection !== undefined) return
    this.#wanted.add(one)
    try {
      if (this.#connection === undefined) await this.#open()
      await this.#attach(one)
    } catch (error) {
      // The connection ended under it and a new one is being opened: that one takes it up.
      if (this.#opening === undefined || this.#abort.signal.aborted) throw error
      await this.#opening
    }
  }

  async remove(one: Subscription): Promise<void> {
    if (!this.#wanted.delete(one)) return
    const connection = this.#connection
    if (this.#wanted.size === 0) {
      this.close()
      this.#settings.onEmpty()
    } else if (connection !== undefined && this.#attached.delete(one)) {
      // A connection that ends meanwhile has no subscriptions left: that is what was asked for.
      await methodsOf(connection)
        [UNDO[one.kind]](one.channel, one.guarded, one.bufferMode)
        .catch(() => {})
    }
  }

  /** Leaves the present connection at once. Never waits for the old server, which may be frozen. */
  renew(): void {
    this.#generation++
    this.#connection?.destroy(new Error('the shard has a new master'))
  }

  close(): void {
    this.#wanted.clear()
    this.#abort.abort(new Error('unsubscribed'))
    const connection = this.#connection
    this.#connection = undefined
    // Not before a listener that asked for it has returned: node-redis's decoder calls listeners amid a message, and one
    // that is reset there hands that message over once more.
    if (connection !== undefined) queueMicrotask(() => connection.destroy())
  }

  #open(): Promise<void> {
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #connect(): Promise<void> {
    const generation = this.#generation
    const connection = await this.#settings.open()
    if (this.#abort.signal.aborted) return connection.destroy()
    if (generation !== this.#generation) {
      // Opened to a master that is none any more.
      connection.destroy()
      return this.#connect()
    }
    this.#connection = connection
    this.#attached = new Set()
    connection.onEnd((cause) => this.#ended(connection, cause))
    await Promise.all([...this.#wanted].map((one) => this.#attach(one)))
  }

  async #attach(one: Subscription): Promise<void> {
    const connection = this.#connection
    if (connection === undefined || this.#attached.has(one) || !this.#wanted.has(one)) return
    this.#attached.add(one)
    await methodsOf(connection)[one.kind](one.channel, one.guarded, one.bufferMode)
  }

  #ended(connection: SubscriberConnection, cause: Error): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    if (!this.#reopening && this.#wanted.size > 0) void this.#reopen(cause)
  }

  /** Tries until it is back or nobody wants it any more. */
  async #reopen(cause: Error): Promise<void> {
    const since = Date.now()
    const backoff = new Backoff({ minMs: 20, maxMs: 1_000 })
    this.#reopening = true
    while (!this.#abort.signal.aborted && this.#connection === undefined) {
      await this.#open().catch(() => {})
      if (this.#connection === undefined) await sleep(backoff.next(), this.#abort.signal).catch(() => {})
    }
    this.#reopening = false
    if (this.#abort.signal.aborted) return
    const channels = [...new Set([...this.#wanted].map(({ channel }) => channel))]
    this.#settings.onGap({ shard: this.#settings.shard, channels, durationMs: Date.now() - since, cause })
  }
}

function methodsOf(connection: SubscriberConnection): PubSubMethods {
  return connection.client as PubSubMethods
}
