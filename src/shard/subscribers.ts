import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import { sleep } from '../async/sleep.js'
import type { Settings } from '../options.js'
import type { Connection } from '../redis-client.js'
import { SIGN_GRACE_MS } from './master-link.js'
import { SharedConnection } from './shared-connection.js'

/** Between two questions whether the server answers at all. */
const ASK_BACKOFF = { minMs: 50, maxMs: 1_000 } as const

export interface SubscribersSettings {
  readonly settings: Settings
  readonly clock: CoarseClock
  /** Aborts when the shard has closed. */
  readonly closed: AbortSignal
  generation(): number
  /** Makes the error of who has waited in vain. */
  noMaster(): Error
  /** Opens a connection to the verified master, once there is one. */
  open(role: 'subscriber' | 'probe', signal: AbortSignal): Promise<Connection>
}

/** The connections of one shard that carry subscriptions. They have the heartbeat of a shared one, and end with its generation. */
export class Subscribers {
  readonly #settings: SubscribersSettings
  readonly #all = new Set<SharedConnection>()
  /** Those of which it is being asked whether they are dead. */
  readonly #doubted = new Set<SharedConnection>()

  constructor(settings: SubscribersSettings) {
    this.#settings = settings
  }

  get sockets(): number {
    return this.#all.size
  }

  /** Rejects within a bound; the caller destroys it. @throws ShardUnavailableError, PoolClosedError */
  async open(): Promise<Connection> {
    const { settings, clock, closed, noMaster } = this.#settings
    const late = noMaster()
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(late), settings.commandTimeoutMs || 5_000)
    const onClosed = () => limit.abort(closed.reason)
    closed.addEventListener('abort', onClosed, { once: true })
    const connection = await this.#settings.open('subscriber', limit.signal).finally(() => {
      clearTimeout(timer)
      closed.removeEventListener('abort', onClosed)
    })
    const watched = new SharedConnection(connection, clock.refresh(), {
      generation: this.#settings.generation(),
      commandTimeoutMs: settings.commandTimeoutMs,
      heartbeatMs: settings.heartbeatMs,
      tickMs: clock.tickMs,
      onLost: (lost) => this.#all.delete(lost),
      onLate: (silent) => void this.#replaceIfDead(silent),
    })
    // One that has ended by now has told it already.
    if (!connection.ended) this.#all.add(watched)
    return connection
  }

  /** Called by the coarse clock. */
  tick(now: number): void {
    for (const subscriber of this.#all) subscriber.tick(now, this.#settings.clock.stalledMs)
  }

  /** Until when no tick is needed. */
  restsUntil(): number {
    let until = Number.POSITIVE_INFINITY
    for (const subscriber of this.#all) until = Math.min(until, subscriber.restsUntil())
    return until
  }

  destroy(cause: Error): void {
    for (const subscriber of this.#all) subscriber.destroy(cause)
  }

  /** One is silent: is it the connection, or only a slow server? Asked until somebody answers: this one, or a fresh one. */
  async #replaceIfDead(subscriber: SharedConnection): Promise<void> {
    const { open, closed } = this.#settings
    if (this.#doubted.has(subscriber)) return
    this.#doubted.add(subscriber)
    const backoff = new Backoff(ASK_BACKOFF)
    while (subscriber.late && !subscriber.connection.ended && !closed.aborted) {
      try {
        const probe = await open('probe', closed)
        probe.destroy()
        // A server that was stopped answers all at once, and the fresh answer may be read first.
        await sleep(SIGN_GRACE_MS, closed)
        if (subscriber.late) subscriber.destroy(new Error('the subscriber does not answer'))
        break
      } catch {
        // Told by whoever looks for the master.
        await sleep(backoff.next(), closed).catch(() => {})
      }
    }
    this.#doubted.delete(subscriber)
  }
}
