import type { Address } from '../address.js'
import type { SentinelEvent, SentinelStateEvent } from '../events.js'
import type { ConnectionFactory } from '../redis-client.js'
import type { SentinelEntry, SentinelList } from './list.js'
import { type FailoverPhase, readNews } from './messages.js'
import { Subscription } from './subscription.js'

/** Why everything must be asked again: messages may have been missed, or a master's configuration was changed. */
export type RecheckReason = 'watch-gap' | 'reconfigured'

/** News for the pool. Every address is mapped; every message is a hint, never a proof. A callback that throws is ignored. */
export interface WatcherCallbacks {
  /** `+switch-master` of one of our masters. Each sentinel tells it, so it comes several times. */
  onSwitch(masterName: string, from: Address, to: Address, sentinel: Address): void
  /**
   * A failover of one of our masters goes on, from `replaces`. `candidate`: the node to become master, where the message
   * names it.
   */
  onProgress(
    masterName: string,
    phase: FailoverPhase,
    candidate: Address | undefined,
    replaces: Address | undefined,
    sentinel: Address,
  ): void
  /** After every (re)subscription, and when a master was monitored, removed or reset: ask for all masters again. */
  onRecheck(reason: RecheckReason): void
  /** Whatever a sentinel says of our masters, or of itself (`+tilt`, with an empty master name), as it came. */
  onEvent(event: SentinelEvent): void
  /** No sentinel can be heard (`degraded`), or one can again (`watching`). One event per change. */
  onState(event: SentinelStateEvent): void
  /** A sentinel cannot be listened to: one report per sentinel and outage. */
  onError(error: Error): void
}

export interface SentinelWatcherSettings {
  readonly list: SentinelList
  readonly sentinelFactory: ConnectionFactory
  readonly masterNames: readonly string[]
  /** A silently dead connection is noticed within this time, in ms; at least 100. */
  readonly heartbeatMs: number
  /** Bound on connecting to a sentinel and on each of its answers, in ms. @default 2000 */
  readonly timeoutMs?: number
  readonly mapAddress: (address: Address) => Address
  readonly connectionName: (kind: 'watch') => string | undefined
  readonly callbacks: WatcherCallbacks
}

/**
 * Hears what the sentinels say: one subscription per distinct sentinel of the list, whichever come and go. Works in the
 * background; `start` and `close` never throw.
 */
export class SentinelWatcher {
  readonly #settings: SentinelWatcherSettings
  readonly #names: ReadonlySet<string>
  readonly #subscriptions = new Map<SentinelEntry, Subscription>()
  #stopListening: (() => void) | undefined
  #state: SentinelStateEvent['state'] | undefined
  #closed = false

  constructor(settings: SentinelWatcherSettings) {
    this.#settings = settings
    this.#names = new Set(settings.masterNames)
  }

  /** How many sentinels can be heard now, and how many are known. */
  get reachable(): number {
    let up = 0
    for (const subscription of this.#subscriptions.values()) if (subscription.up) up++
    return up
  }

  get known(): number {
    return this.#subscriptions.size
  }

  /** Each known sentinel: whether it is heard right now, and whether it is a seed. */
  stats(): readonly { readonly address: Address; readonly subscribed: boolean; readonly seed: boolean }[] {
    return Array.from(this.#subscriptions, ([{ address, seed }, { up }]) => ({ address, subscribed: up, seed }))
  }

  start(): void {
    if (this.#closed || this.#stopListening !== undefined) return
    this.#stopListening = this.#settings.list.onChange(() => this.#follow())
    this.#follow()
  }

  close(): void {
    this.#closed = true
    this.#stopListening?.()
    for (const subscription of this.#subscriptions.values()) subscription.close()
    this.#subscriptions.clear()
  }

  /** Makes the subscriptions what the list says. */
  #follow(): void {
    if (this.#closed) return
    const { list } = this.#settings
    for (const [entry, subscription] of this.#subscriptions) {
      if (list.has(entry)) continue
      this.#subscriptions.delete(entry)
      subscription.close()
    }
    for (const entry of list.entries()) {
      if (this.#subscriptions.has(entry)) continue
      const subscription = this.#subscribe(entry)
      this.#subscriptions.set(entry, subscription)
      subscription.start()
    }
    this.#tellState(false)
  }

  #subscribe(entry: SentinelEntry): Subscription {
    const { list, sentinelFactory, masterNames, heartbeatMs, timeoutMs, connectionName, callbacks } = this.#settings
    return new Subscription({
      entry,
      list,
      factory: sentinelFactory,
      masterNames,
      heartbeatMs: Math.max(100, heartbeatMs),
      timeoutMs: timeoutMs ?? 2000,
      connectionName: connectionName('watch'),
      onUp: () => {
        this.#tellState(true)
        guarded(() => callbacks.onRecheck('watch-gap'))
      },
      onDown: (error, firstOfOutage) => {
        this.#tellState(true)
        if (firstOfOutage) guarded(() => callbacks.onError(error))
      },
      onMessage: (channel, message) => this.#hear(entry, channel, message),
      onPeers: (peers) => {
        const up = peers.filter((p) => !p.flags.has('s_down') && !p.flags.has('disconnected'))
        list.learn(up.map((p) => ({ address: this.#settings.mapAddress(p.address), runId: p.runId })))
      },
      onTwin: () => this.#follow(),
    })
  }

  #hear(entry: SentinelEntry, channel: string, message: string): void {
    const { callbacks, mapAddress, list } = this.#settings
    const news = readNews(channel, message)
    if (news === undefined) return
    // The exact name: `s1` is not `s10`, and other people's masters are none of our business.
    if (news.masterName !== undefined && !this.#names.has(news.masterName)) return
    const sentinel = entry.address
    guarded(() => callbacks.onEvent({ sentinel, event: channel, masterName: news.masterName ?? '', message }))
    switch (news.kind) {
      case 'switch':
        guarded(() => callbacks.onSwitch(news.masterName, mapAddress(news.from), mapAddress(news.to), sentinel))
        break
      case 'progress':
        guarded(() => {
          const candidate = news.candidate && mapAddress(news.candidate)
          callbacks.onProgress(news.masterName, news.phase, candidate, mappedOrNot(mapAddress, news.replaces), sentinel)
        })
        break
      case 'reset':
        guarded(() => callbacks.onRecheck('reconfigured'))
        break
      case 'peer':
        list.learn([{ address: mapAddress(news.address), runId: news.runId }])
        break
      case 'other':
        break
    }
  }

  /** `settled`: a subscription has succeeded or failed, so that "none" means none, not "not yet". */
  #tellState(settled: boolean): void {
    if (this.#closed) return
    const reachable = this.reachable
    const state = reachable > 0 ? 'watching' : 'degraded'
    if (state === this.#state || (state === 'degraded' && !settled)) return
    this.#state = state
    guarded(() => this.#settings.callbacks.onState({ state, reachable, known: this.known }))
  }
}

/** A map of somebody's own may not know a node that has gone. */
function mappedOrNot(map: (address: Address) => Address, address: Address): Address | undefined {
  try {
    return map(address)
  } catch {
    return undefined
  }
}

/** The watcher goes on whatever a callback does. */
function guarded(callback: () => void): void {
  try {
    callback()
  } catch {
    // A listener's own trouble; nothing of ours hangs on it.
  }
}
