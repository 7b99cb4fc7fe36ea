interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  /** `clock.now` at which the wait ends; Infinity: no end of its own. */
  readonly deadline: number
}

export interface WaitingRoomSettings {
  /** Most callers at once; above it `enter` rejects at once. */
  readonly maxWaiting: number
  /** Makes the error for a caller that finds the room full. */
  full(waiting: number): Error
  /** Makes the error for a caller whose deadline has come. */
  overdue(waiting: number): Error
}

/**
 * Calls that wait for a shard to have a master, bounded in number and in time (R12). They leave in the order they came:
 * one that was called earlier is sent earlier. No timer of its own: the shard's coarse clock calls `sweep`.
 */
export class WaitingRoom {
  readonly #settings: WaitingRoomSettings
  #waiters: Waiter[] = []

  constructor(settings: WaitingRoomSettings) {
    this.#settings = settings
  }

  get size(): number {
    return this.#waiters.length
  }

  enter(deadline: number): Promise<void> {
    if (this.#waiters.length >= this.#settings.maxWaiting) {
      return Promise.reject(this.#settings.full(this.#waiters.length))
    }
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject, deadline }))
  }

  /** Ends the waits whose deadline has come. */
  sweep(now: number): void {
    if (this.#waiters.length === 0) return
    const waiting = this.#waiters.length
    const staying: Waiter[] = []
    for (const waiter of this.#waiters) {
      if (waiter.deadline > now) staying.push(waiter)
      else waiter.reject(this.#settings.overdue(waiting))
    }
    this.#waiters = staying
  }

  /** Lets everybody go on. */
  open(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.resolve()
  }

  /** Sends everybody away. */
  fail(error: Error): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.reject(error)
  }
}
