import { bounded, monotonicNow } from '../async/deadline.js'
import type { Connection, ConnectionFactory, RedisArgument } from '../redis-client.js'
import { nameOf, type SentinelEntry, type SentinelList } from './list.js'
import { readText } from './replies.js'

export interface SentinelClientSettings {
  readonly entry: SentinelEntry
  readonly list: SentinelList
  readonly factory: ConnectionFactory
  /** Bound on connecting, in ms. */
  readonly openTimeoutMs: number
  /** An unused connection is closed after so long, in ms. */
  readonly idleMs: number
  readonly name: string | undefined
  readonly now?: () => number
}

/**
 * The questions to one sentinel. One connection, opened with the first question, shared by all that ask at the same time
 * and pipelined; destroyed with the first answer that does not come in time, since everything behind it is late too.
 *
 * It is not the watcher's connection, though RESP3 would allow that: a late answer must cost a question, never a gap in the
 * subscription, and an unused connection may close while a subscription may not.
 */
export class SentinelClient {
  readonly entry: SentinelEntry
  readonly #settings: SentinelClientSettings
  readonly #now: () => number
  readonly #closed = new AbortController()
  #connection: Promise<Connection> | undefined
  #open: Connection | undefined
  #idle: NodeJS.Timeout | undefined
  #busy = 0
  #failures = 0
  #coolUntil = 0
  #lastFailure: Error | undefined
  /** When the oldest question was sent that nothing has been heard after. */
  #waitingSince: number | undefined

  constructor(settings: SentinelClientSettings) {
    this.entry = settings.entry
    this.#settings = settings
    this.#now = settings.now ?? monotonicNow
  }

  /** Why it should not be asked at this moment: its last failure, a fraction of a second old. */
  get cooling(): Error | undefined {
    return this.#now() < this.#coolUntil ? this.#lastFailure : undefined
  }

  /**
   * Sends the commands in one round trip. Resolves with one entry per command, a reply or the error reply; rejects when
   * the sentinel could not be asked at all: not reached, not let in, or silent for `timeoutMs`.
   */
  async ask(
    commands: readonly (readonly RedisArgument[])[],
    request: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly unknown[]> {
    this.#busy++
    try {
      return await bounded(this.#ask(commands), {
        timeoutMs: request.timeoutMs,
        signal: request.signal,
        onTimeout: () => this.#silent(request.timeoutMs),
      })
    } finally {
      this.#busy--
      this.#armIdle()
    }
  }

  /** Closes the connection for good. Idempotent. */
  close(): void {
    this.#closed.abort(new Error('closed'))
    clearTimeout(this.#idle)
    this.#open?.destroy(new Error('closed'))
  }

  async #ask(commands: readonly (readonly RedisArgument[])[]): Promise<readonly unknown[]> {
    this.#connection ??= this.#connect()
    const connection = await this.#connection
    this.#waitingSince ??= this.#now()
    const replies = await Promise.all(
      commands.map((command) => connection.send(command).catch((error: unknown) => error as Error)),
    )
    this.#waitingSince = undefined
    if (connection.cause !== undefined) throw connection.cause
    const refusal = replies.find((reply) => reply instanceof Error && /^(NOAUTH|WRONGPASS)/.test(reply.message))
    // Its password was changed under us: the next connection is made with what the credentials provider says then.
    if (refusal !== undefined) connection.destroy(refusal as Error)
    else this.#good()
    return replies
  }

  async #connect(): Promise<Connection> {
    const { factory, openTimeoutMs, name, list } = this.#settings
    try {
      const connection = await factory.open(this.entry.address, {
        timeoutMs: openTimeoutMs,
        name,
        signal: this.#closed.signal,
      })
      // Closed in the very tick in which it opened: the signal has missed it.
      if (this.#closed.signal.aborted) {
        connection.destroy()
        throw this.#closed.signal.reason
      }
      this.#open = connection
      connection.onEnd(() => {
        if (this.#open !== connection) return
        this.#open = undefined
        this.#connection = undefined
      })
      // Not awaited: it travels with the first question, whose answer comes behind it, so the entry has its run id by then.
      connection.send(['SENTINEL', 'MYID']).then(
        (reply) => {
          const runId = readText(reply)
          if (runId) list.identify(this.entry, runId)
        },
        () => {},
      )
      return connection
    } catch (error) {
      this.#connection = undefined
      this.#bad(error as Error)
      throw error
    }
  }

  #silent(timeoutMs: number): Error {
    const error = Object.assign(new Error(`sentinel ${nameOf(this.entry)} gave no answer within ${timeoutMs} ms`), {
      code: 'ETIMEDOUT',
    })
    // One that is still connecting has its own bound and may serve the next question; and a question that was cut short
    // by its asker proves nothing.
    const silentMs = this.#waitingSince === undefined ? 0 : this.#now() - this.#waitingSince
    if (this.#open !== undefined && silentMs >= this.#settings.openTimeoutMs * 0.9) {
      this.#bad(error)
      this.#open.destroy(error)
    }
    return error
  }

  #good(): void {
    this.#failures = 0
    this.#coolUntil = 0
    this.#settings.list.succeeded(this.entry)
  }

  #bad(error: Error): void {
    if (this.#closed.signal.aborted) return
    this.#lastFailure = error
    // Random, so that the shards of many processes do not knock at a restarted sentinel in one instant.
    const pause = Math.min(200 * 2 ** Math.min(this.#failures++, 8), 1000)
    this.#coolUntil = this.#now() + pause * (0.5 + Math.random() / 2)
    this.#settings.list.failed(this.entry)
  }

  #armIdle(): void {
    if (this.#idle !== undefined) {
      this.#idle.refresh()
      return
    }
    this.#idle = setTimeout(() => {
      this.#idle = undefined
      if (this.#busy === 0) this.#open?.destroy(new Error('idle'))
      else this.#armIdle()
    }, this.#settings.idleMs)
    this.#idle.unref()
    if (this.#closed.signal.aborted) clearTimeout(this.#idle)
  }
}
