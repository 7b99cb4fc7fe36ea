import { LONGEST_MS } from './deadline.js'

/** Waits for every tick: what a listener says that does not say when it needs the next one. */
const ALWAYS = () => 0

/**
 * One coarse timer for all deadlines of a pool. Reading `now` costs a property; a deadline kept by it ends at most one
 * tick late. The timer is unref'd: it never keeps a process alive.
 *
 * It sleeps while nobody needs a tick: waking an idle process ten times a second costs more than all else that an idle pool
 * does. Whoever starts something that has a deadline wakes it, by `refresh`, or first looks whether it is `asleep`.
 */
export class CoarseClock {
  readonly tickMs: number
  /** Milliseconds of `performance.now()`, at most one tick old; as old as its sleep while it is asleep. */
  now = performance.now()
  /** Read for every call: a plain field. */
  asleep = false
  #staleAt = Number.NaN
  #wokeAt = this.now
  /** For how long this process itself stood still before the present tick, in ms. */
  stalledMs = 0
  readonly #listeners = new Map<(now: number) => void, () => number>()
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0

  constructor(tickMs: number) {
    this.tickMs = tickMs
  }

  /**
   * Calls back every tick until the returned function is called. The first listener starts the timer. `restsUntil` says,
   * after each tick, until when the listener needs no other; anything in the past for "not at all".
   */
  onTick(listener: (now: number) => void, restsUntil: () => number = ALWAYS): () => void {
    this.#listeners.set(listener, restsUntil)
    if (this.#timer === undefined) this.#arm(performance.now(), this.tickMs)
    this.refresh()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
      this.#waiting = []
      this.asleep = false
    }
  }

  /** Reads the real clock, for decisions off the way of an ordinary command, and wakes this one. */
  refresh(): number {
    this.now = performance.now()
    if (this.asleep) {
      this.#isAwake()
      this.#arm(this.now, this.tickMs)
    }
    return this.now
  }

  /**
   * When a call began that read `now` at its start: one that woke the clock has read when it fell asleep, and one that was
   * made before the first tick after this process stood still, when that began. Of the last time only: what may be asked
   * about again later reads the real clock.
   */
  beganAt(now: number): number {
    if (this.asleep) this.refresh()
    return now === this.#staleAt ? this.#wokeAt : now
  }

  /** Resolves at the next tick; never once nobody listens any more, since who waits so keeps no timer going. */
  nextTick(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.refresh()
    })
  }

  #tick(): void {
    const now = performance.now()
    this.stalledMs = Math.max(0, now - this.#dueAt - this.tickMs)
    if (this.stalledMs > 0) this.#staleAt = this.now
    this.now = now
    if (this.asleep) this.#isAwake()
    else if (this.stalledMs > 0) this.#wokeAt = now
    const waiting = this.#waiting
    this.#waiting = []
    try {
      for (const listener of this.#listeners.keys()) listener(now)
    } finally {
      for (const resolve of waiting) resolve()
      this.#rearm(now)
    }
  }

  #rearm(now: number): void {
    if (this.#timer === undefined) return
    let restsUntil = Number.POSITIVE_INFINITY
    for (const until of this.#listeners.values()) restsUntil = Math.min(restsUntil, until())
    // Short of a few ticks it is not worth it.
    this.asleep = restsUntil > now + 4 * this.tickMs
    if (this.asleep) this.#staleAt = this.now
    // A timer may fire up to a millisecond early, and what is due by then would not be yet.
    this.#arm(now, this.asleep ? Math.min(LONGEST_MS, Math.ceil(restsUntil - now) + 1) : this.tickMs)
  }

  #isAwake(): void {
    this.asleep = false
    this.#wokeAt = this.now
  }

  #arm(now: number, ms: number): void {
    this.#dueAt = now + ms
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tick(), ms)
    this.#timer.unref()
  }
}
