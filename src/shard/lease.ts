import { ConnectionLostError, type LeaseEnd, LeaseReleasedError, type Outcome } from '../errors.js'
import type { Connection, NodeClient, RedisArgument } from '../redis-client.js'
import type { CallOptions, LeasePort, LeaseState } from './call.js'
import { classifyFailure } from './failure.js'

/**
 * Methods and commands after which a connection is not as it was: another database, login, name, reply mode, tracking,
 * subscription or an open MULTI. Cleaning all of that costs more than a new connection, so it is destroyed at release.
 * WATCH is not among them: it is undone with UNWATCH. Nor is the method `multi()`: it sends MULTI … EXEC as one.
 */
const LEAVES_A_MARK =
  /^(select|auth|hello|reset|monitor|multi|client_?(setname|reply|tracking|caching|no_?evict|no_?touch|setinfo|kill|pause)|p?subscribe|s_?subscribe|readonly|readwrite|asking|script_?debug|quit|close|destroy|disconnect|swapdb|failover|replicaof|slaveof|shutdown|debug)$/i

export interface LeaseSettings {
  readonly shard: string
  readonly connection: Connection
  readonly stack: string | undefined
  /** Gives the connection back; called exactly once. */
  giveBack(reusable: boolean): Promise<void>
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
  #leakReported = false
  #inFlight = 0

  constructor(settings: LeaseSettings) {
    this.shard = settings.shard
    this.stack = settings.stack
    this.#connection = settings.connection
    this.#giveBack = settings.giveBack
    this.client = this.#guard(settings.connection.client)
  }

  get state(): LeaseState {
    return this.#state
  }

  async send(args: readonly RedisArgument[], options?: CallOptions): Promise<unknown> {
    if (this.#state !== 'active') throw this.#endedError('not-sent')
    this.#note('sendCommand', [args])
    return this.#track(
      String(args[0]),
      this.#connection.send(args, { typeMapping: options?.typeMapping, abortSignal: options?.abortSignal }),
    )
  }

  async release(): Promise<void> {
    if (this.#state === 'failover' || this.#state === 'closed') return this.#giveBack(false)
    this.#end('released')
    const clean = !this.#marked && this.#inFlight === 0 && !this.#connection.client.isPubSubActive
    if (!clean || !this.#connection.client.isWatching) return this.#giveBack(clean)
    const unwatched = await this.#connection.send(['UNWATCH']).then(
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
  }

  #endedError(outcome: Outcome, cause?: unknown): LeaseReleasedError {
    return new LeaseReleasedError(this.shard, this.#state as LeaseEnd, { outcome, cause })
  }

  #note(method: string, args: readonly unknown[]): void {
    if (method !== 'sendCommand') {
      if (LEAVES_A_MARK.test(method) && !/^multi$/i.test(method)) this.#marked = true
      return
    }
    const [name, subcommand] = Array.isArray(args[0]) ? args[0] : args
    const command = String(name)
    // A raw WATCH goes unseen by node-redis, so `isWatching` does not tell.
    if (LEAVES_A_MARK.test(command) || /^watch$/i.test(command) || LEAVES_A_MARK.test(`${command}_${subcommand}`)) {
      this.#marked = true
    }
  }

  /** Counts the call in flight and turns what a lost or poisoned connection says into a typed error. */
  async #track(name: string, call: Promise<unknown>): Promise<unknown> {
    this.#inFlight++
    try {
      return await call
    } catch (error) {
      const kind = classifyFailure(error)
      if (kind !== 'lost' && kind !== 'not-sent') throw error
      const outcome = kind === 'lost' ? 'unknown' : 'not-sent'
      if (this.#state !== 'active') throw this.#endedError(outcome, error)
      if (!this.#connection.ended) throw error
      throw new ConnectionLostError(this.shard, name.toUpperCase(), outcome, { cause: error })
    } finally {
      this.#inFlight--
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
    const touchesServer = kind === 'client' ? !EVENT_METHOD.test(name) : /^(exec|next)/i.test(name)
    if (touchesServer && this.#state !== 'active') {
      const error = this.#endedError('not-sent')
      if (MAKES_AN_OBJECT.test(name)) throw error
      return Promise.reject(error)
    }
    if (kind === 'client') this.#note(name, args)
    const result = method.apply(object, args)
    if (result instanceof Promise) return this.#track(name, result)
    if (typeof result !== 'object' || result === null || result === object) return result
    return this.#guard(result, /^with/.test(name) ? 'client' : 'chain')
  }
}

const EVENT_METHOD =
  /^(on|once|off|addListener|removeListener|removeAllListeners|emit|listenerCount|listeners|ref|unref)$/
/** Methods that hand out an object now rather than a promise. */
const MAKES_AN_OBJECT = /^(multi|with\w+|\w+Iterator|duplicate|createPool|legacy|asap)$/i
