import { Backoff } from '../async/backoff.js'
import { bounded } from '../async/deadline.js'
import { sleep, untilStroke } from '../async/sleep.js'
import { type Connection, type ConnectionFactory, describeFailure } from '../redis-client.js'
import { nameOf, type SentinelEntry, type SentinelList } from './list.js'
import { channels, leastChannels } from './messages.js'
import { type InstanceInfo, readInstances, readText } from './replies.js'

/** One sentinel cannot be listened to. Reported once per outage. */
export class SentinelWatchError extends Error {
  override readonly name = 'SentinelWatchError'
  /** `host:port` of the sentinel. */
  readonly sentinel: string

  constructor(sentinel: string, cause: unknown) {
    super(`sentinel ${sentinel} cannot be listened to: ${describeFailure(cause)}`, { cause })
    this.sentinel = sentinel
  }
}

export interface SubscriptionSettings {
  readonly entry: SentinelEntry
  readonly list: SentinelList
  readonly factory: ConnectionFactory
  readonly masterNames: readonly string[]
  readonly heartbeatMs: number
  /** Bound on connecting and on each question, in ms. */
  readonly timeoutMs: number
  readonly connectionName: string | undefined
  /** Every (re)subscription that has been acknowledged. */
  readonly onUp: () => void
  /** The subscription is gone; `firstOfOutage` for the first failure after a success, or of all. */
  readonly onDown: (error: SentinelWatchError, firstOfOutage: boolean) => void
  readonly onMessage: (channel: string, message: string) => void
  readonly onPeers: (peers: readonly InstanceInfo[]) => void
  /** Another entry turned out to be the same sentinel: this one ends. */
  readonly onTwin: () => void
}

/** A sentinel that denies SUBSCRIBE is tried again this seldom, in ms: an ACL may change. */
const deniedRetryMs = 60_000

/**
 * Listens to one sentinel for as long as it lives: connect, say who it is, learn its peers, subscribe, then a heartbeat. A
 * connection that breaks or falls silent is replaced with exponential back-off and jitter; its host name is looked up again
 * each time. Nothing here ever throws or rejects outwards.
 */
export class Subscription {
  readonly entry: SentinelEntry
  readonly #settings: SubscriptionSettings
  readonly #abort = new AbortController()
  #up = false
  #reported = false

  constructor(settings: SubscriptionSettings) {
    this.entry = settings.entry
    this.#settings = settings
  }

  /** Subscribed, acknowledged, and not yet found dead. */
  get up(): boolean {
    return this.#up
  }

  start(): void {
    this.#run().catch(() => {})
  }

  /** Ends it at once, with its socket and timers. Idempotent; no callback comes after it. */
  close(): void {
    this.#up = false
    this.#abort.abort(new Error('closed'))
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    const backoff = new Backoff({ minMs: 50, maxMs: 2000 })
    while (!signal.aborted) {
      let pauseMs: number | undefined
      let connection: Connection | undefined
      try {
        connection = await this.#open()
        if (await this.#introduce(connection)) {
          this.#settings.onTwin()
          this.close()
          return
        }
        await this.#subscribe(connection)
        this.#isUp()
        backoff.reset()
        await this.#beat(connection)
      } catch (error) {
        if (signal.aborted) return
        this.#isDown(error)
        if (isDenied(error)) pauseMs = deniedRetryMs
      } finally {
        connection?.destroy()
      }
      await sleep(pauseMs ?? backoff.next(), signal, { ref: false })
    }
  }

  async #open(): Promise<Connection> {
    const { factory, timeoutMs, connectionName } = this.#settings
    return factory.open(this.entry.address, { timeoutMs, name: connectionName, signal: this.#abort.signal })
  }

  /** Before the subscription, since a RESP2 subscriber may ask nothing. True when this sentinel is listened to already. */
  async #introduce(connection: Connection): Promise<boolean> {
    const { list, masterNames, onPeers } = this.#settings
    const asError = (error: unknown) => error as Error
    const [runId, ...peers] = await this.#within(
      Promise.all([
        connection.send(['SENTINEL', 'MYID']).catch(asError),
        ...masterNames.map((name) => connection.send(['SENTINEL', 'SENTINELS', name]).catch(asError)),
      ]),
    )
    if (connection.cause !== undefined) throw connection.cause
    const text = readText(runId)
    if (text && list.identify(this.entry, text) !== undefined) return true
    onPeers(peers.flatMap((reply) => readInstances(reply) ?? []))
    return false
  }

  async #subscribe(connection: Connection): Promise<void> {
    const listen = (names: readonly string[]) =>
      this.#within(
        connection.client.subscribe([...names], (message, channel) => {
          if (!this.#abort.signal.aborted) this.#settings.onMessage(String(channel), String(message))
        }),
      )
    try {
      await listen(channels)
    } catch (error) {
      // An ACL may allow this one channel and no other. Where SUBSCRIBE itself is denied, this is denied as well.
      if (!isDenied(error)) throw error
      await listen(leastChannels)
    }
  }

  /** Resolves never; rejects when the connection has ended or has been silent for too long. */
  async #beat(connection: Connection): Promise<never> {
    const { signal } = this.#abort
    // A signal, and not a promise to race with: each race would leave its reaction on it for as long as the connection lives.
    const ended = new AbortController()
    connection.onEnd((cause) => ended.abort(cause))
    const { heartbeatMs } = this.#settings
    // Sent early enough that silence is known within one heartbeat, whenever it began.
    const deadlineMs = Math.max(50, Math.min(1000, heartbeatMs * 0.4))
    const intervalMs = Math.max(50, heartbeatMs - deadlineMs)
    const stop = () => connection.destroy(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (;;) {
        await sleep(untilStroke(intervalMs), ended.signal, { ref: false })
        await bounded(connection.send(['PING']), {
          timeoutMs: deadlineMs,
          signal: ended.signal,
          onTimeout: () => Object.assign(new Error('no answer to the heartbeat'), { code: 'ETIMEDOUT' }),
        }).catch((error: unknown) => {
          // Denied is an answer too.
          if (!isDenied(error)) throw error
        })
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  #within<T>(promise: Promise<T>): Promise<T> {
    const { timeoutMs } = this.#settings
    return bounded(promise, {
      timeoutMs,
      signal: this.#abort.signal,
      onTimeout: () => Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }),
    })
  }

  #isUp(): void {
    this.#up = true
    this.#reported = false
    this.#settings.list.succeeded(this.entry)
    this.#settings.onUp()
  }

  #isDown(error: unknown): void {
    this.#up = false
    // One that denies SUBSCRIBE is well and may be asked.
    if (!isDenied(error)) this.#settings.list.failed(this.entry)
    const first = !this.#reported
    this.#reported = true
    this.#settings.onDown(new SentinelWatchError(nameOf(this.entry), error), first)
  }
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOPERM')
}
