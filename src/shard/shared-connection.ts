import { type Connection, ErrorReply, type RedisArgument, type SendOptions } from '../redis-client.js'

export interface SharedConnectionSettings {
  readonly generation: number
  /**
   * Deadline of a call in ms. 0: calls have none, and no silence ends the connection by itself, since a long script keeps
   * the server silent too; `onLate` tells of it, and whoever hears that must find out.
   */
  readonly commandTimeoutMs: number
  /** A quiet connection is asked for a sign of life this often, in ms, and all of a process at the same moment. */
  readonly heartbeatMs: number
  readonly tickMs: number
  /** The connection is gone, and all that was in flight on it has been rejected. */
  onLost(connection: SharedConnection, cause: Error): void
  /** Calls of the shard that have ended; undefined where nobody counts them. */
  answered?(): number
  /** An answer is late enough to be suspicious, and nothing moves; the connection still stands. Once per lateness. */
  onLate(connection: SharedConnection): void
  /** A fence was answered, so long after it was sent, in ms. */
  onRoundTrip?(ms: number): void
}

const PING: readonly RedisArgument[] = ['PING']

/** No count of calls is this: the next fence is due as if there had been one. */
const NEVER = -1

/**
 * The slowest line that is not taken for a dead one, in bytes per ms (100 kB a second): a large value gets so long to arrive
 * before its silence is suspicious. The system takes megabytes at once and tells nothing of what becomes of them.
 */
const SLOW_LINE = 100

interface Fence {
  /** When it was sent; later by the time this process itself stood still. */
  at: number
  /** The largest write between the one before and this one, in bytes. */
  readonly large: number
  /** Calls went out before it, and not only a heartbeat. */
  readonly behindCalls: boolean
  /** `sent` when it went out. */
  readonly upTo: number
}

/**
 * One pipelined connection for everybody's ordinary commands.
 *
 * Deadlines cost nothing per command: a fence. While calls go out, a PING follows them every `fenceMs`; Redis answers in
 * order, so a PING that is answered proves that all before it were, and one that is overdue means that all before it are:
 * the connection is destroyed, which rejects them. A fence is due `fenceMs` and a tick early, so that the call that was
 * sent just after the one before still ends by its own deadline.
 */
export class SharedConnection {
  readonly generation: number
  readonly #connection: Connection
  readonly #settings: SharedConnectionSettings
  readonly #fenceMs: number
  readonly #overdueMs: number
  readonly #lateMs: number
  /** The unanswered fences, oldest first. Bounded by `overdueMs / fenceMs`. */
  #fences: Fence[] = []
  #lastFence: number
  /** When something last moved on the connection: bytes came or left, or a call was answered. */
  #lastSign: number
  #answeredBefore = 0
  #lateReported = false
  #timedOut = false
  /** Calls sent in all; a change since the last fence is what makes the next one necessary. */
  sent = 0
  #sentAtFence = 0
  /** `sent` when a write went out last, and at the newest fence that was answered. */
  #lastWrite = 0
  #answeredUpTo = 0

  constructor(connection: Connection, now: number, settings: SharedConnectionSettings) {
    this.generation = settings.generation
    this.#connection = connection
    this.#settings = settings
    const { commandTimeoutMs, heartbeatMs, tickMs } = settings
    this.#fenceMs = Math.min(250, (commandTimeoutMs || heartbeatMs) / 4)
    const overdueMs = commandTimeoutMs - this.#fenceMs - tickMs
    this.#overdueMs = commandTimeoutMs > 0 ? Math.max(tickMs, overdueMs) : Number.POSITIVE_INFINITY
    this.#lateMs = Math.min(500, this.#overdueMs / 2)
    this.#lastFence = now
    this.#lastSign = now
    connection.onEnd((cause) => settings.onLost(this, cause))
  }

  get connection(): Connection {
    return this.#connection
  }

  /** True when a sign of life is late right now: the connection is suspicious, and replaced if the server answers elsewhere. */
  get late(): boolean {
    return this.#lateReported
  }

  /** True when all that was sent has been answered. */
  get quiet(): boolean {
    return this.#fences.length === 0 && this.sent === this.#sentAtFence
  }

  /** True when a write may be on its way on it. */
  get mayWrite(): boolean {
    return this.#lastWrite > this.#answeredUpTo
  }

  /** True when the connection was given up because a call reached its deadline. */
  get timedOut(): boolean {
    return this.#timedOut
  }

  send(args: readonly RedisArgument[], options: SendOptions | undefined, writes = true): Promise<unknown> {
    this.sent++
    if (writes) this.#lastWrite = this.sent
    return this.#connection.send(args, options)
  }

  /** Called by the coarse clock; `stalledMs` is for how long this process itself has stood still. */
  tick(now: number, stalledMs = 0): void {
    if (this.#connection.ended) return
    if (stalledMs > 0) this.#forgiveOwnStall(stalledMs)
    const oldest = this.#fences[0]
    if (oldest !== undefined) {
      const age = now - oldest.at
      if (age >= this.#overdueMs) {
        this.#timedOut = true
        this.destroy(new Error(`no answer for ${Math.round(age)} ms`))
        return
      }
      this.#lookForSigns(now)
      const silentMs = Math.min(age, now - this.#lastSign)
      if (silentMs >= this.#lateMs && !this.#lateReported && silentMs >= this.#lateMs + this.#patienceMs()) {
        this.#lateReported = true
        this.#settings.onLate(this)
      }
    }
    const due = this.sent !== this.#sentAtFence ? now - this.#lastFence >= this.#fenceMs : now >= this.#nextBeat()
    if (due && this.#needsFence()) this.#fence(now)
  }

  /** Until when it needs no tick, unless something is sent; 0: it needs the next one. */
  restsUntil(): number {
    if (this.#connection.ended) return Number.POSITIVE_INFINITY
    return this.#fences.length > 0 || this.sent !== this.#sentAtFence ? 0 : this.#nextBeat()
  }

  /** On the stroke of `heartbeatMs`, so that all quiet connections wake the process together. */
  #nextBeat(): number {
    const { heartbeatMs } = this.#settings
    return (Math.floor(this.#lastFence / heartbeatMs) + 1) * heartbeatMs
  }

  /**
   * The server holds back writes: silence until now is explained where one may be on the way, and more of it is suspicious
   * anew. Deadlines stay as they are.
   */
  excuse(now: number): void {
    if (!this.mayWrite) return
    this.#lastSign = now
    this.#lateReported = false
  }

  /** Asks for a sign of life now: somebody's call on this connection ran out of time. */
  probe(now: number): void {
    if (this.#fences.length === 0 && !this.#connection.ended) this.#fence(now)
  }

  destroy(cause: Error): void {
    this.#connection.destroy(cause)
  }

  /** A long queue or a large value makes answers late too; but then something moves, which it does not when the other side is gone. */
  #lookForSigns(now: number): void {
    const answered = this.#settings.answered?.() ?? 0
    const moves = this.#connection.moved() || answered !== this.#answeredBefore
    this.#answeredBefore = answered
    if (!moves) return
    this.#lastSign = now
    this.#lateReported = false
  }

  /**
   * How much longer silence may last where it proves little. What cannot be seen (TLS) may be a large value on its way, too:
   * then calls make it suspicious only after a heartbeat's time.
   */
  #patienceMs(): number {
    const connection = this.#connection
    if (!connection.seen) return this.#fences.some((fence) => fence.behindCalls) ? this.#settings.heartbeatMs : 0
    let large = connection.largestWrite
    for (const fence of this.#fences) large = Math.max(large, fence.large)
    return large / SLOW_LINE
  }

  /** Without a deadline one that is on its way is enough: they would gather for as long as nothing is answered. */
  #needsFence(): boolean {
    const hasDeadline = this.#overdueMs !== Number.POSITIVE_INFINITY
    return hasDeadline || this.#fences.length === 0 || this.#sentAtFence === NEVER
  }

  #fence(now: number): void {
    this.#lastFence = now
    const connection = this.#connection
    const fence: Fence = {
      at: now,
      large: connection.largestWrite,
      behindCalls: this.sent !== this.#sentAtFence,
      upTo: this.sent,
    }
    connection.forgetLargest()
    this.#sentAtFence = this.sent
    this.#fences.push(fence)
    connection.send(PING).then(
      () => this.#fenceAnswered(fence),
      (error: unknown) => {
        // An error reply (LOADING, MASTERDOWN, BUSY) is a sign of life too. A fence that found the queue full stays, as the
        // mark of when all that is in the queue was there: a later one that is answered takes it along.
        if (error instanceof ErrorReply) this.#fenceAnswered(fence)
        else this.#sentAtFence = NEVER
      },
    )
  }

  /** When this process itself stood still, answers lie unread in the socket: that time is not the server's. */
  #forgiveOwnStall(stalledMs: number): void {
    for (const fence of this.#fences) fence.at += stalledMs
    this.#lastSign += stalledMs
  }

  #fenceAnswered(fence: Fence): void {
    const place = this.#fences.indexOf(fence)
    if (place < 0) return
    this.#fences.splice(0, place + 1)
    this.#answeredUpTo = fence.upTo
    this.#settings.onRoundTrip?.(Math.max(0, performance.now() - fence.at))
    this.#lateReported = false
  }
}
