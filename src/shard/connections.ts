/* A little longer than most: what generic-pool must be told, and what it must not see, belong in one place. */
import type { Backoff } from '../async/backoff.js'
import { bounded } from '../async/deadline.js'
import { sleep } from '../async/sleep.js'
import { type AcquirePicture, AcquireTimeoutError, PoolClosedError, ShardUnavailableError } from '../errors.js'
import { type Connection, ErrorReply, type RedisArgument } from '../redis-client.js'
import type { AcquireOptions } from './call.js'
import { createSlotPool, type Slot, type SlotPool, type SlotPoolSettings } from './slot-pool.js'
import { SlotRequests } from './slot-requests.js'

export type { Slot }

export interface ShardConnectionsSettings extends SlotPoolSettings {
  readonly shard: string
  readonly backoff: Backoff
  /** The generation a connection must have to be handed out. */
  generation(): number
  /** Why there is no master just now; undefined when there is one. */
  lastError(): Error | undefined
  /** Opens a connection to the shard's verified master, waiting for one; rejects on abort or when it did not prove a master. */
  open(signal: AbortSignal): Promise<{ connection: Connection; generation: number }>
}

const DONE = Promise.resolve()
const PING: readonly RedisArgument[] = ['PING']
/** A connection that was used so short a time ago is handed out without asking it, in ms. */
const TRUSTED_MS = 1_000
/** What is given back stays at hand for so long, in ms, before generic-pool has it again. */
const AT_HAND_MS = 100
/**
 * Dead, outdated and long idle connections are swept out at least this often, in ms, and `min` is refilled. A borrower never
 * waits for it.
 */
const SWEEP_MS = 5_000
/** After a change of master nothing is refilled for so long, in ms: leases come on demand. */
const CALM_MS = 1_000
/** One that was idle for longer must answer a PING within this, in ms. */
const CHECK_TIMEOUT_MS = 300

/**
 * The exclusive connections of one shard: a generic-pool for life. What it needs to be told so that it behaves:
 * a `create` that fails would make it spin (so ours waits with back-off until it succeeds or the pool closes), eviction does
 * not know of generations, and `drain()` has no deadline (so closing is ours).
 */
export class ShardConnections {
  readonly #settings: ShardConnectionsSettings
  readonly #pool: SlotPool
  readonly #requests: SlotRequests
  /** Every slot with an open socket: idle, borrowed or under test. */
  readonly #slots = new Set<Slot>()
  readonly #borrowed = new Set<Slot>()
  /** Their connection has ended, and generic-pool still has them: it looks at what is idle only at a borrow and at a sweep. */
  readonly #ended = new Set<Slot>()
  /**
   * Given back a moment ago while nobody waited, the latest last: the next borrower takes it at once. generic-pool, for which
   * they are still out, needs a dozen promise hops and a timer to lend one, a fifth of a whole WATCH, MULTI and EXEC.
   */
  #atHand: Slot[] = []
  readonly #sweepMs: number
  #sweptAt = performance.now()
  /** Borrowers whose connection has not come yet. */
  #waiting = 0
  readonly #abort = new AbortController()
  #onReturn: (() => void) | undefined
  /** Why the last try to open a connection failed; undefined once one has succeeded. */
  #openError: Error | undefined

  constructor(settings: ShardConnectionsSettings) {
    this.#settings = settings
    this.#sweepMs = Math.min(SWEEP_MS, Math.max(100, settings.idleTimeoutMs / 4))
    this.#pool = createSlotPool(settings, {
      create: () => this.#create(),
      destroy: (slot) => this.#destroySlot(slot),
      validate: (slot) => this.#answers(slot),
      isGood: (slot) => this.#isGood(slot),
    })
    this.#requests = new SlotRequests(this.#pool, (cause) => {
      return new ShardUnavailableError(settings.shard, 'too-many-waiting', this.#requests.pending, { cause })
    })
  }

  /** Opens the first `min` connections in the background. */
  start(): void {
    if (!this.#abort.signal.aborted) this.#pool.start()
  }

  /** Sockets of this shard's exclusive connections. */
  get sockets(): number {
    return this.#slots.size
  }

  picture(): AcquirePicture {
    const { size, max, available, borrowed } = this.#pool
    const { pending } = this.#requests
    // generic-pool goes on counting what it has cleared away as available.
    if (this.#abort.signal.aborted) return { size: 0, max, idle: 0, borrowed: 0, pending: 0, oldestLeaseMs: 0 }
    let oldest = 0
    const now = performance.now()
    for (const slot of this.#borrowed) oldest = Math.max(oldest, now - slot.usedAt)
    const atHand = this.#atHand.length
    let lost = 0
    for (const slot of this.#ended) if (!this.#borrowed.has(slot)) lost++
    const idle = Math.max(0, available + atHand - lost)
    return { size: size - lost, max, idle, borrowed: borrowed - atHand, pending, oldestLeaseMs: Math.round(oldest) }
  }

  /** A good connection that was given back a moment ago; undefined: `acquire` has to be asked. */
  takeAtHand(): (Slot & { readonly connection: Connection }) | undefined {
    const now = performance.now()
    for (let slot = this.#atHand.pop(); slot !== undefined; slot = this.#atHand.pop()) {
      if (!this.#isLive(slot)) {
        this.#pool.destroy(slot).catch(() => {})
      } else if (now - slot.usedAt >= TRUSTED_MS) {
        // The clock stood still: generic-pool asks it first.
        this.#pool.release(slot).catch(() => {})
      } else {
        slot.usedAt = now
        this.#borrowed.add(slot)
        return slot
      }
    }
    return undefined
  }

  /** Called by the coarse clock: what nobody has taken is generic-pool's again, which tests, evicts and refills. */
  tick(now: number): void {
    if (now >= this.#nextSweep()) {
      this.#sweptAt = now
      this.#pool._evict()
    }
    if (this.#atHand.length === 0) return
    const stay: Slot[] = []
    for (const slot of this.#atHand) {
      if (!this.#isGood(slot)) this.#pool.destroy(slot).catch(() => {})
      else if (now - slot.usedAt >= AT_HAND_MS) this.#pool.release(slot).catch(() => {})
      else stay.push(slot)
    }
    this.#atHand = stay
  }

  /** Until when it needs no tick; 0: it needs the next one. */
  restsUntil(): number {
    return this.#atHand.length > 0 ? 0 : this.#nextSweep()
  }

  /** On the stroke, as the heartbeats are. */
  #nextSweep(): number {
    return (Math.floor(this.#sweptAt / this.#sweepMs) + 1) * this.#sweepMs
  }

  /**
   * A connection for the caller alone, as soon as one is free.
   * @throws AcquireTimeoutError after `acquireTimeoutMs`, or `timeoutMs` where that is less; ShardUnavailableError when too many
   * wait; PoolClosedError; the signal's reason
   */
  async acquire({ timeoutMs, signal }: AcquireOptions = {}): Promise<Slot & { readonly connection: Connection }> {
    const atHand = this.takeAtHand()
    if (atHand !== undefined) return atHand
    const boundMs = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, this.#settings.acquireTimeoutMs)
    const deadline = performance.now() + boundMs
    const limit = { deadline, signal, onTimeout: () => this.#timeoutError(boundMs) }
    // Else generic-pool's own time-out is its end.
    let isLimited = timeoutMs !== undefined || signal !== undefined
    this.#waiting++
    try {
      for (;;) {
        if (this.#abort.signal.aborted) throw new PoolClosedError()
        const takesOver = this.#requests.hasUnclaimed
        isLimited ||= takesOver
        const slot = await this.#requests.wait(isLimited ? limit : undefined).catch((error) => {
          throw this.#abort.signal.aborted ? new PoolClosedError() : error
        })
        if (slot === undefined) {
          if (takesOver) continue
          throw limit.onTimeout()
        }
        slot.usedAt = performance.now()
        this.#borrowed.add(slot)
        if (this.#isLive(slot)) return slot
        // The generation moved on between the test and the hand-over.
        await this.giveBack(slot, false)
        if (performance.now() >= deadline) throw limit.onTimeout()
      }
    } finally {
      this.#waiting--
      this.#tellIdle()
    }
  }

  #timeoutError(acquireTimeoutMs: number): AcquireTimeoutError {
    const { shard, lastError } = this.#settings
    return new AcquireTimeoutError(shard, acquireTimeoutMs, this.picture(), { cause: lastError() ?? this.#openError })
  }

  /** `reusable`: clean, and good for the next caller; anything else is destroyed. Never rejects. */
  giveBack(slot: Slot, reusable: boolean): Promise<void> {
    if (!this.#borrowed.delete(slot)) return DONE
    slot.usedAt = performance.now()
    const good = reusable && !this.#abort.signal.aborted && this.#isGood(slot)
    if (good && this.#pool.pending === 0) {
      this.#atHand.push(slot)
      this.#tellIdle()
      return DONE
    }
    return this.#giveToPool(slot, good)
  }

  async #giveToPool(slot: Slot, good: boolean): Promise<void> {
    await (good ? this.#pool.release(slot) : this.#pool.destroy(slot)).catch(() => {})
    this.#tellIdle()
  }

  /** Closes every socket of an older generation now, idle or borrowed; the records follow at borrow, return or eviction. */
  retire(cause: Error): void {
    // The new master has all shared connections coming in: the refill up to `min` is not added to that.
    this.#sweptAt = Math.max(this.#sweptAt, performance.now() + CALM_MS)
    for (const slot of this.#slots) {
      if (slot.generation !== this.#settings.generation()) slot.connection?.destroy(cause)
    }
  }

  /** Resolves when no connection is out and nobody waits for one, at once or when the last comes back. */
  idle(): Promise<void> {
    if (this.#isIdle) return DONE
    return new Promise((resolve) => {
      this.#onReturn = resolve
    })
  }

  /** Who waits will hold one in a moment: between two holders none is out. */
  get #isIdle(): boolean {
    return this.#borrowed.size === 0 && this.#waiting === 0
  }

  #tellIdle(): void {
    if (this.#isIdle) this.#onReturn?.()
  }

  /** No socket and no timer is left when it returns. Idempotent. */
  destroy(cause: Error): void {
    if (this.#abort.signal.aborted) return
    this.#abort.abort(cause)
    for (const slot of this.#slots) slot.connection?.destroy(cause)
    this.#slots.clear()
    // Serves whoever still waits with placeholders (see #create), then lets go of them.
    for (const slot of [...this.#borrowed, ...this.#atHand]) this.#pool.destroy(slot).catch(() => {})
    this.#borrowed.clear()
    this.#atHand = []
    this.#onReturn?.()
    this.#pool.drain().then(
      () => this.#pool.clear().catch(() => {}),
      () => {},
    )
  }

  #isLive(slot: Slot): slot is Slot & { readonly connection: Connection } {
    return slot.connection !== undefined && !this.#abort.signal.aborted && this.#isGood(slot)
  }

  #isGood(slot: Slot): boolean {
    // While closing, a waiter is served anything at all so that its wait ends; `acquire` then says why.
    if (this.#abort.signal.aborted) return true
    return slot.connection !== undefined && !slot.connection.ended && slot.generation === this.#settings.generation()
  }

  /**
   * The test at the borrow. What has been idle for a while may have died silently (a NAT box forgets it), so it must answer;
   * one that does not casts out all that have been idle for so long, so that a dead network costs one such wait and not `max`.
   */
  async #answers(slot: Slot): Promise<boolean> {
    if (!this.#isGood(slot)) return false
    const { connection, usedAt } = slot
    const idleMs = performance.now() - usedAt
    if (connection === undefined || idleMs < TRUSTED_MS) return true
    const cause = new Error(`no answer within ${CHECK_TIMEOUT_MS} ms after ${Math.round(idleMs)} ms of silence`)
    const answered = await bounded(connection.send(PING), { timeoutMs: CHECK_TIMEOUT_MS, onTimeout: () => cause }).then(
      () => true,
      // BUSY and LOADING are signs of life.
      (error: unknown) => error instanceof ErrorReply,
    )
    if (answered) return this.#isGood(slot)
    for (const other of this.#slots) {
      const idle = !this.#borrowed.has(other) && performance.now() - other.usedAt >= TRUSTED_MS
      if (idle) other.connection?.destroy(cause)
    }
    return false
  }

  async #create(): Promise<Slot> {
    const { signal } = this.#abort
    const { open, backoff } = this.#settings
    while (!signal.aborted) {
      const before = this.#settings.generation()
      try {
        const { connection, generation } = await open(signal)
        if (signal.aborted) connection.destroy()
        backoff.reset()
        this.#openError = undefined
        const slot: Slot = { connection, generation, usedAt: performance.now() }
        this.#slots.add(slot)
        connection.onEnd(() => {
          if (this.#slots.delete(slot)) this.#ended.add(slot)
        })
        return slot
      } catch (error) {
        // A new master is a new chance: tried at once.
        if (signal.aborted || before !== this.#settings.generation()) continue
        this.#openError = error as Error
        await sleep(backoff.next(), signal).catch(() => {})
      }
    }
    return { connection: undefined, generation: -1, usedAt: 0 }
  }

  async #destroySlot(slot: Slot): Promise<void> {
    this.#slots.delete(slot)
    this.#ended.delete(slot)
    slot.connection?.destroy()
  }
}
