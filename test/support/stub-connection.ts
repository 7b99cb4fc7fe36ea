import type { Address } from '../../src/address.js'
import { ClientClosedError, type Connection, type RedisArgument, type SendOptions } from '../../src/redis-client.js'

export interface SentCall {
  readonly args: readonly RedisArgument[]
  readonly options: SendOptions | undefined
  answer(reply: unknown): void
  fail(error: Error): void
}

/** A connection without a socket: what was sent lies in `calls` until the test answers it; its end rejects what is left. */
export class StubConnection {
  readonly address: Address
  readonly ips: readonly string[] = []
  readonly calls: SentCall[] = []
  /** Everything ever sent, by its first word. */
  readonly sent: string[] = []
  readonly client: Record<string, unknown>
  /** Answers at once what it does not give undefined for. */
  reply: (args: readonly RedisArgument[]) => unknown
  cause: Error | undefined
  listeners: ((cause: Error) => void)[] = []

  constructor(
    reply: (args: readonly RedisArgument[]) => unknown = () => undefined,
    address: Address = { host: '127.0.0.1', port: 1 },
  ) {
    this.reply = reply
    this.address = address
    this.client = {
      isReady: true,
      isPubSubActive: false,
      isWatching: false,
      sendCommand: (args: readonly RedisArgument[]) => this.send(args),
    }
  }

  /** Under the type that the pool knows. */
  get asConnection(): Connection {
    return this as unknown as Connection
  }

  seen = true
  largestWrite = 0

  forgetLargest(): void {
    this.largestWrite = 0
  }

  moved(): boolean {
    return false
  }

  get ended(): boolean {
    return this.cause !== undefined
  }

  send(args: readonly RedisArgument[], options?: SendOptions): Promise<unknown> {
    if (this.ended) return Promise.reject(new ClientClosedError())
    this.sent.push(String(args[0]))
    const ready = this.reply(args)
    if (ready !== undefined) return ready instanceof Error ? Promise.reject(ready) : Promise.resolve(ready)
    return new Promise((resolve, reject) => {
      const call: SentCall = {
        args,
        options,
        answer: (reply) => this.#settle(call, () => resolve(reply)),
        fail: (error) => this.#settle(call, () => reject(error)),
      }
      this.calls.push(call)
    })
  }

  onEnd(listener: (cause: Error) => void): () => void {
    if (this.cause !== undefined) listener(this.cause)
    else this.listeners.push(listener)
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener)
    }
  }

  destroy(cause: Error = new Error('connection destroyed')): void {
    if (this.cause !== undefined) return
    this.cause = cause
    for (const call of [...this.calls]) call.fail(new Error('Disconnects client'))
    const listeners = this.listeners
    this.listeners = []
    for (const listener of listeners) listener(cause)
  }

  #settle(call: SentCall, settle: () => void): void {
    const place = this.calls.indexOf(call)
    if (place < 0) return
    this.calls.splice(place, 1)
    settle()
  }
}

/** Lets everything run that is due already: promises, and one turn of the loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
