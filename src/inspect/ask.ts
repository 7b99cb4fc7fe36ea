import type { Address } from '../address.js'
import { bounded, Deadline } from '../async/deadline.js'
import { type Connection, type ConnectionFactory, describeFailure } from '../redis-client.js'

export interface AskSettings {
  readonly factory: ConnectionFactory
  readonly address: Address
  readonly name: string
  /** Bound in ms on connecting and all questions together. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** The user's type mapping is for the user's own calls. */
const AS_IT_COMES = { typeMapping: {} }

/** The conversation with one server. */
export class Questions {
  readonly denied: string[] = []
  readonly connection: Connection
  readonly #deadline: Deadline
  readonly #signal: AbortSignal | undefined

  constructor(connection: Connection, deadline: Deadline, signal: AbortSignal | undefined) {
    this.connection = connection
    this.#deadline = deadline
    this.#signal = signal
  }

  /**
   * All in one round trip; a reply, or undefined for an error reply. What the ACL denies is noted in `denied` by the words
   * of `label`. Throws when the connection breaks or the time is up.
   */
  async ask(commands: readonly { readonly words: readonly string[]; readonly label: string }[]): Promise<unknown[]> {
    const asError = (error: unknown) => error as Error
    const replies = await this.#within(
      Promise.all(commands.map(({ words }) => this.connection.send(words, AS_IT_COMES).catch(asError))),
    )
    if (this.connection.cause !== undefined) throw this.connection.cause
    return replies.map((reply, i) => {
      if (!(reply instanceof Error)) return reply
      this.deny(reply, commands[i]!.label)
      return undefined
    })
  }

  /** The reply, or the error reply as text. */
  async askText(words: readonly string[], label: string): Promise<string | undefined> {
    const reply = await this.#within(this.connection.send(words, AS_IT_COMES).catch((error: unknown) => error as Error))
    if (this.connection.cause !== undefined) throw this.connection.cause
    if (!(reply instanceof Error)) return String(reply)
    return this.deny(reply, label) ? undefined : reply.message
  }

  /** Whether this user may listen. The connection takes no more questions after it. */
  async maySubscribe(channel: string): Promise<void> {
    await this.#within(this.connection.client.subscribe(channel, () => {})).catch((error: unknown) => {
      if (!this.deny(error as Error, `SUBSCRIBE ${channel}`)) throw error
    })
  }

  async latency(): Promise<number> {
    const since = performance.now()
    await this.ask([{ words: ['PING'], label: 'PING' }])
    return performance.now() - since
  }

  deny(error: Error, label: string): boolean {
    if (!error.message.startsWith('NOPERM')) return false
    if (!this.denied.includes(label)) this.denied.push(label)
    return true
  }

  #within<T>(promise: Promise<T>): Promise<T> {
    return bounded(promise, {
      timeoutMs: Math.max(1, this.#deadline.remainingMs),
      signal: this.#signal,
      onTimeout: () => Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }),
    })
  }
}

/** Connects, lets `talk` ask, and leaves no socket. Resolves with why not, where it does not work. @throws the abort's reason only */
export async function converse<T>(
  settings: AskSettings,
  talk: (questions: Questions) => Promise<T>,
): Promise<{ readonly value: T } | { readonly error: string }> {
  const { factory, address, name, timeoutMs, signal } = settings
  const deadline = new Deadline(timeoutMs)
  let connection: Connection | undefined
  try {
    connection = await factory.open(address, { timeoutMs, name, signal })
    return { value: await talk(new Questions(connection, deadline, signal)) }
  } catch (error) {
    signal?.throwIfAborted()
    return { error: describeFailure(error) }
  } finally {
    connection?.destroy()
  }
}
