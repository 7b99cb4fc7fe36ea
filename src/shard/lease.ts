import { bounded, LONGEST_MS } from '../async/deadline.js'
import {
  CommandTimeoutError,
  ConnectionLostError,
  type LeaseEnd,
  LeaseReleasedError,
  type Outcome,
  UnsupportedCommandError,
} from '../errors.js'
import { AbortError, type Connection, ErrorReply, type NodeClient, type RedisArgument } from '../redis-client.js'
import type { CallOptions, LeasePort, LeaseState } from './call.js'
import { classifyFailure } from './failure.js'
import { factsOf, type GuardedKind, leavesAMark, waitsByNature } from './lease-methods.js'

type Listener = (...args: unknown[]) => void

/** A server that does not answer UNWATCH so soon is not worth waiting for: the connection is destroyed instead, in ms. */
const UNWATCH_TIMEOUT_MS = 1_000

interface LeaseCall {
  readonly since: number
  readonly waits: boolean
}

/** The name of a command given as words, as one array or one by one. */
function nameOf(args: readonly unknown[]): string {
  const [name] = Array.isArray(args[0]) ? args[0] : args
  return String(name)
}

export interface LeaseSettings {
  readonly shard: string
  readonly connection: Connection
  /** Deadline of a call in ms, but for those that wait by their nature; 0: none. */
  readonly commandTimeoutMs: number
  readonly stack: string | undefined
  /** Gives the connection back. Idempotent. */
  giveBack(reusable: boolean): Promise<void>
  /** The node has answered that it is no master that can serve. */
  onMoved(reply: ErrorReply): void
}

/**
 * An exclusive connection, held by one caller. It ends exactly once: released, discarded, or poisoned because its shard's
 * master changed (R9) or the pool closed. After its end every use rejects with LeaseReleasedError.
 */
export class Lease implements LeasePort {
  readonly shard: string
  readonly takenAt = performance.now()
  readonly stack: string | undefined
  /** The node-redis client, usable until the lease ends. */
  readonly client: NodeClient
  readonly #connection: Connection
  readonly #giveBack: (reusable: boolean) => Promise<void>
  #state: LeaseState = 'active'
  /** What was done to the connection that it must not be lent again with. */
  #marks = 0
  readonly #listeners: [event: string, listener: Listener][] = []
  #leakReported = false
  /** Calls in flight, oldest first. */
  readonly #calls = new Set<LeaseCall>()
  readonly #timeoutMs: number
  readonly #onMoved: (reply: ErrorReply) => void
  #timedOut = false

  constructor(settings: LeaseSettings) {
    this.shard = settings.shard
    this.stack = settings.stack
    this.#connection = settings.connection
    this.#giveBack = settings.giveBack
    this.#timeoutMs = settings.commandTimeoutMs
    this.#onMoved = settings.onMoved
    this.client = this.#guard(settings.connection.client)
  }

  get state(): LeaseState {
    return this.#state
  }

  async send(args: readonly RedisArgument[], options?: CallOptions): Promise<unknown> {
    if (this.#state !== 'active') throw this.#endedError('not-sent')
    if (options?.abortSignal?.aborted) throw new AbortError()
    this.#noteWords(args)
    const { timeoutMs, abortSignal } = options ?? {}
    const call = this.#connection.send(args, { typeMapping: options?.typeMapping })
    // With a bound of its own, which is 0 where there is none, the lease's does not apply.
    const name = String(args[0])
    const waits = timeoutMs !== undefined || waitsByNature(name)
    return this.#track(name, waits, this.#bounded(call, name, timeoutMs ?? 0, abortSignal))
  }

  /** Commands back to back. A MULTI that is answered with its EXEC leaves no mark. */
  sendAll(commands: readonly (readonly RedisArgument[])[], options: CallOptions): Promise<unknown>[] {
    const replies = commands.map((args) => this.send(args, options))
    const isOver = () => this.#marks--
    if (commands[0]?.[0] === 'MULTI' && commands.at(-1)?.[0] === 'EXEC' && this.#marks > 0) {
      replies.at(-1)!.then(isOver, (error: unknown) => error instanceof ErrorReply && isOver())
    }
    return replies
  }

  /** A call that is given up leaves an answer behind that nobody waits for: its connection goes with it. */
  #bounded(call: Promise<unknown>, name: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    if (timeoutMs === 0 && signal === undefined) return call
    const onTimeout = () => new CommandTimeoutError(this.shard, name.toUpperCase(), timeoutMs, 'unknown')
    return bounded(call, { timeoutMs: timeoutMs || LONGEST_MS, onTimeout, signal }).catch((error: unknown) => {
      const aborted = signal?.aborted === true && error === signal.reason
      if (aborted || error instanceof CommandTimeoutError) this.#connection.destroy(error as Error)
      throw aborted ? new AbortError() : error
    })
  }

  release(): Promise<void> {
    if (this.#state === 'failover' || this.#state === 'closed') return this.#giveBack(false)
    try {
      this.#end('released')
    } catch (error) {
      return Promise.reject(error)
    }
    const { client } = this.#connection
    const clean = this.#marks === 0 && this.#calls.size === 0 && !client.isPubSubActive
    return clean && client.isWatching ? this.#unwatch() : this.#giveBack(clean)
  }

  async #unwatch(): Promise<void> {
    const timeoutMs = Math.min(UNWATCH_TIMEOUT_MS, this.#timeoutMs || UNWATCH_TIMEOUT_MS)
    // By its method, so that node-redis knows: it would say for ever that the connection watches something.
    const unwatching = (this.#connection.client as NodeClient & { unwatch(): Promise<unknown> }).unwatch()
    const onTimeout = () => new Error('no answer to UNWATCH')
    const unwatched = await bounded(unwatching, { timeoutMs, onTimeout }).then(
      () => true,
      () => false,
    )
    return this.#giveBack(unwatched)
  }

  discard(): void {
    if (this.#state === 'active') this.#end('discarded')
    else if (this.#state === 'released' || this.#state === 'discarded') throw this.#endedError('not-sent')
    void this.#giveBack(false)
  }

  /** Ends it from outside: the shard moved, or the pool closes. The socket is closed; nothing is sent to the old node. */
  poison(why: 'failover' | 'closed', cause: Error): void {
    if (this.#state !== 'active') return
    this.#state = why
    this.#connection.destroy(cause)
  }

  /** Called by the coarse clock: a call whose deadline has come ends, and with it the connection it waits on. */
  tick(now: number): void {
    const [oldest] = this.#calls
    // What waits by its nature keeps those behind it waiting too.
    if (this.#timeoutMs === 0 || oldest === undefined || oldest.waits || now - oldest.since < this.#timeoutMs) return
    this.#timedOut = true
    this.#connection.destroy(new Error(`no answer for ${Math.round(now - oldest.since)} ms`))
  }

  /** Ends the calls in flight, if any: nobody will answer them. */
  cut(cause: Error): void {
    if (this.#calls.size > 0) this.#connection.destroy(cause)
  }

  /** True the first time: a lease that is out too long is reported once. */
  reportLeakOnce(): boolean {
    if (this.#leakReported || this.#state !== 'active') return false
    this.#leakReported = true
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state !== 'released' && this.#state !== 'discarded') await this.release()
  }

  #end(state: 'released' | 'discarded'): void {
    if (this.#state !== 'active') throw this.#endedError('not-sent')
    this.#state = state
    const client = this.#connection.client as NodeClient & { off(event: string, listener: Listener): unknown }
    for (const [event, listener] of this.#listeners) client.off(event, listener)
  }

  #endedError(outcome: Outcome, cause?: unknown): LeaseReleasedError {
    return new LeaseReleasedError(this.shard, this.#state as LeaseEnd, { outcome, cause })
  }

  #noteWords(words: readonly unknown[]): void {
    // A raw WATCH goes unseen by node-redis, so `isWatching` does not tell.
    if (leavesAMark(words)) this.#marks++
  }

  /** Counts the call in flight and turns what a lost or poisoned connection says into a typed error. */
  #track(name: string, waits: boolean, promise: Promise<unknown>): Promise<unknown> {
    const call = { since: performance.now(), waits }
    this.#calls.add(call)
    return promise.then(
      (reply) => {
        this.#calls.delete(call)
        return reply
      },
      (error: unknown) => {
        this.#calls.delete(call)
        throw this.#explained(name, error)
      },
    )
  }

  #explained(name: string, error: unknown): unknown {
    if (error instanceof CommandTimeoutError) return error
    const kind = classifyFailure(error)
    if (kind === 'moved') this.#onMoved(error as ErrorReply)
    if (kind !== 'lost' && kind !== 'not-sent') return error
    const outcome = kind === 'lost' ? 'unknown' : 'not-sent'
    if (this.#state !== 'active') return this.#endedError(outcome, error)
    if (!this.#connection.ended) return error
    if (this.#timedOut && outcome === 'unknown') {
      return new CommandTimeoutError(this.shard, name.toUpperCase(), this.#timeoutMs, outcome, { cause: error })
    }
    return new ConnectionLostError(this.shard, name.toUpperCase(), outcome, { cause: error })
  }

  /**
   * The client as the caller holds it: the real one behind a proxy that refuses to work once the lease has ended, since
   * the connection may by then be somebody else's. Namespaces (`client.json`) and `multi()` chains are guarded alike.
   */
  #guard<T extends object>(target: T, kind: GuardedKind = 'client'): T {
    const proxy: T = new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property, object)
        if (typeof property !== 'string' || property.startsWith('_') || property === 'constructor') return value
        // Made anew each time: most are asked for once in a lease.
        if (typeof value === 'function') {
          return (...args: unknown[]) => {
            const result = this.#call(kind, object, property, value as (...a: unknown[]) => unknown, args)
            return result === object ? proxy : result
          }
        }
        return typeof value === 'object' && value !== null && property !== 'options' ? this.#guard(value) : value
      },
    })
    return proxy
  }

  #call(
    kind: GuardedKind,
    object: object,
    name: string,
    method: (...args: unknown[]) => unknown,
    args: unknown[],
  ): unknown {
    const facts = factsOf(kind, name)
    if (facts.refusal !== undefined) throw new UnsupportedCommandError(name, facts.refusal)
    if (facts.touchesServer && this.#state !== 'active') {
      const error = this.#endedError('not-sent')
      if (facts.makesAnObject) throw error
      return Promise.reject(error)
    }
    const words = kind === 'client' && name === 'sendCommand' ? args : undefined
    if (words !== undefined) this.#noteWords(Array.isArray(words[0]) ? words[0] : words)
    else if (facts.leavesAMark) this.#marks++
    else if (facts.addsAListener) this.#listeners.push([String(args[0]), args[1] as Listener])
    const result = method.apply(object, args)
    if (name === 'removeAllListeners') {
      // Ours are gone with the others, and an error that nobody hears ends the process (R17).
      this.#marks++
      this.#connection.client.on('error', () => {})
    }
    if (result instanceof Promise) {
      return this.#track(name, words === undefined ? facts.waits : waitsByNature(nameOf(words)), result)
    }
    if (typeof result !== 'object' || result === null || result === object || facts.duplicates) return result
    // A chain leads to chains; a client to clients (views), but for what collects commands or pages.
    return this.#guard(result, facts.makesAChain ? 'chain' : 'client')
  }
}
