import { bounded } from '../async/deadline.js'
import {
  CommandTimeoutError,
  ConnectionLostError,
  type LeaseEnd,
  LeaseReleasedError,
  type Outcome,
  UnsupportedCommandError,
} from '../errors.js'
import { AbortError, type Connection, type ErrorReply, type NodeClient, type RedisArgument } from '../redis-client.js'
import type { CallOptions, LeasePort, LeaseState } from './call.js'
import { classifyFailure } from './failure.js'

/**
 * Methods and commands after which a connection is not as it was: another database, login, name, reply mode, tracking,
 * subscription or an open MULTI. Cleaning all of that costs more than a new connection, so it is destroyed at release.
 * WATCH is not among them: it is undone with UNWATCH. Nor is the method `multi()`: it sends MULTI … EXEC as one.
 */
const LEAVES_A_MARK =
  /^(select|auth|hello|reset|monitor|multi|client_?(setname|reply|tracking|caching|no[_-]?evict|no[_-]?touch|setinfo|kill|pause)|p?subscribe|s_?subscribe|readonly|readwrite|asking|script_?debug|quit|close|destroy|disconnect|swapdb|failover|replicaof|slaveof|shutdown|debug)$/i

type Listener = (...args: unknown[]) => void

/** True for a command that would leave the connection it is sent on other than it was. */
export function leavesAMark(words: readonly unknown[]): boolean {
  const [name, subcommand] = words.map(String)
  return /^watch$/i.test(name ?? '') || LEAVES_A_MARK.test(name ?? '') || LEAVES_A_MARK.test(`${name}_${subcommand}`)
}

/** Commands that wait on the server by their nature. Their names begin so, and no other's do. */
const WAITS = /^(b(l|r|z)(m?pop|move|pop|poplpush)|xread|wait|monitor|client_?pause)/i
/** What a timer takes. */
const LONGEST_MS = 2 ** 31 - 1
/** A server that does not answer UNWATCH so soon is not worth waiting for: the connection is destroyed instead, in ms. */
const UNWATCH_TIMEOUT_MS = 1_000

interface LeaseCall {
  readonly since: number
  readonly waits: boolean
}

function mayWait(method: string, args: readonly unknown[]): boolean {
  if (method !== 'sendCommand') return WAITS.test(method)
  const [name] = Array.isArray(args[0]) ? args[0] : args
  return WAITS.test(String(name))
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
  #marked = false
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
    this.#note('sendCommand', [args])
    const { timeoutMs, abortSignal } = options ?? {}
    const call = this.#connection.send(args, { typeMapping: options?.typeMapping })
    // With a bound of its own, which is 0 where there is none, the lease's does not apply.
    const waits = timeoutMs !== undefined || mayWait('sendCommand', [args])
    return this.#track(String(args[0]), waits, this.#bounded(call, String(args[0]), timeoutMs ?? 0, abortSignal))
  }

  /** A call that is given up leaves an answer behind that nobody waits for: its connection goes with it. */
  #bounded(call: Promise<unknown>, name: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    if (timeoutMs === 0 && signal === undefined) return call
    const bound = timeoutMs === 0 ? LONGEST_MS : Math.min(timeoutMs, LONGEST_MS)
    const onTimeout = () => new CommandTimeoutError(this.shard, name.toUpperCase(), timeoutMs, 'unknown')
    return bounded(call, { timeoutMs: bound, onTimeout, signal }).catch((error: unknown) => {
      const aborted = signal?.aborted === true && error === signal.reason
      if (aborted || error instanceof CommandTimeoutError) this.#connection.destroy(error as Error)
      throw aborted ? new AbortError() : error
    })
  }

  async release(): Promise<void> {
    if (this.#state === 'failover' || this.#state === 'closed') return this.#giveBack(false)
    this.#end('released')
    const clean = !this.#marked && this.#calls.size === 0 && !this.#connection.client.isPubSubActive
    if (!clean || !this.#connection.client.isWatching) return this.#giveBack(clean)
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

  #note(method: string, args: readonly unknown[]): void {
    if (method !== 'sendCommand') {
      if (LEAVES_A_MARK.test(method) && !/^multi$/i.test(method)) this.#marked = true
      else if (ADDS_A_LISTENER.test(method)) this.#listeners.push([String(args[0]), args[1] as Listener])
      return
    }
    // A raw WATCH goes unseen by node-redis, so `isWatching` does not tell.
    if (leavesAMark(Array.isArray(args[0]) ? args[0] : args)) this.#marked = true
  }

  /** Counts the call in flight and turns what a lost or poisoned connection says into a typed error. */
  async #track(name: string, waits: boolean, promise: Promise<unknown>): Promise<unknown> {
    const call = { since: performance.now(), waits }
    this.#calls.add(call)
    try {
      return await promise
    } catch (error) {
      if (error instanceof CommandTimeoutError) throw error
      const kind = classifyFailure(error)
      if (kind === 'moved') this.#onMoved(error as ErrorReply)
      if (kind !== 'lost' && kind !== 'not-sent') throw error
      const outcome = kind === 'lost' ? 'unknown' : 'not-sent'
      if (this.#state !== 'active') throw this.#endedError(outcome, error)
      if (!this.#connection.ended) throw error
      if (this.#timedOut && outcome === 'unknown') {
        throw new CommandTimeoutError(this.shard, name.toUpperCase(), this.#timeoutMs, outcome, { cause: error })
      }
      throw new ConnectionLostError(this.shard, name.toUpperCase(), outcome, { cause: error })
    } finally {
      this.#calls.delete(call)
    }
  }

  /**
   * The client as the caller holds it: the real one behind a proxy that refuses to work once the lease has ended, since
   * the connection may by then be somebody else's. Namespaces (`client.json`) and `multi()` chains are guarded alike.
   */
  #guard<T extends object>(target: T, kind: 'client' | 'chain' = 'client'): T {
    const wrapped = new Map<PropertyKey, unknown>()
    const proxy: T = new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property, object)
        if (typeof property !== 'string' || property.startsWith('_') || property === 'constructor') return value
        const isMethod = typeof value === 'function'
        if (!isMethod && (typeof value !== 'object' || value === null || property === 'options')) return value
        let guarded = wrapped.get(property)
        if (guarded === undefined) {
          guarded = isMethod
            ? (...args: unknown[]) => {
                const result = this.#call(kind, object, property, value as (...a: unknown[]) => unknown, args)
                return result === object ? proxy : result
              }
            : this.#guard(value as object)
          wrapped.set(property, guarded)
        }
        return guarded
      },
    })
    return proxy
  }

  #call(
    kind: 'client' | 'chain',
    object: object,
    name: string,
    method: (...args: unknown[]) => unknown,
    args: unknown[],
  ): unknown {
    const refusal = kind === 'client' ? REFUSED.get(name.toLowerCase()) : undefined
    if (refusal !== undefined) throw new UnsupportedCommandError(name, refusal)
    const touchesServer = kind === 'client' ? !EVENT_METHOD.test(name) : /^(exec|next)/i.test(name)
    if (touchesServer && this.#state !== 'active') {
      const error = this.#endedError('not-sent')
      if (MAKES_AN_OBJECT.test(name)) throw error
      return Promise.reject(error)
    }
    if (kind === 'client') this.#note(name, args)
    const result = method.apply(object, args)
    if (name === 'removeAllListeners') {
      // Ours are gone with the others, and an error that nobody hears ends the process (R17).
      this.#marked = true
      this.#connection.client.on('error', () => {})
    }
    if (result instanceof Promise) return this.#track(name, mayWait(name, args), result)
    if (typeof result !== 'object' || result === null || result === object) return result
    // A connection of its own, which the caller owns.
    if (/^duplicate$/i.test(name)) return result
    // A chain leads to chains; a client to clients (views), but for what collects commands or pages.
    return this.#guard(result, kind === 'chain' || MAKES_A_CHAIN.test(name) ? 'chain' : 'client')
  }
}

const EVENT_METHOD =
  /^(on|once|off|addListener|prependListener|prependOnceListener|removeListener|removeAllListeners|emit|listenerCount|listeners|rawListeners|ref|unref)$/
/** What this holder put on would hear what the next one does: it is taken off again. */
const ADDS_A_LISTENER = /^(on|once|addListener|prependListener|prependOnceListener)$/
const MAKES_A_CHAIN = /^(multi|\w+Iterator)$/i
/** What would hand out a client behind which the lease's guard does not reach. By name in lower case, with what to do instead. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['legacy', 'its calls would outlive the lease; use the promises of the client itself'],
  ['createpool', 'a lease is one connection; take more of them with `pool.use(key, …)`'],
])
/** Methods that hand out an object now rather than a promise. */
const MAKES_AN_OBJECT = /^(multi|with\w+|\w+Iterator|duplicate|asap)$/i
