import { onAbort } from '../async/abort.js'

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  /** `clock.now` at which the wait ends; Infinity: no end of its own. */
  readonly deadline: number
  readonly stopListening: (() => void) | undefined
  /** Of a call that was refused: its place among those. */
  readonly place: number | undefined
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
 * Calls that wait for a shard to have a master that takes them, bounded in number and in time (R12). They leave in the order
 * they were called: first those that were sent before and refused, then the others as they came. No timer of its own: the shard's coarse clock calls `sweep`.
 */
export class WaitingRoom {
  readonly #settings: WaitingRoomSettings
  /** In the order they came; sets, so that one who gives up leaves at once and takes no place. */
  readonly #waiters = new Set<Waiter>()
  /** Whose call was sent once already, and refused: they leave before those who came later with a call not sent yet. */
  readonly #refused = new Set<Waiter>()

  constructor(settings: WaitingRoomSettings) {
    this.#settings = settings
  }

  get size(): number {
    return this.#waiters.size + this.#refused.size
  }

  /**
   * Resolves when the room opens. Rejects when it is full, at the deadline, by `fail`, or with the signal's reason. Calls that
   * were refused have a `place` among them, and find room in any case: those in flight are bounded already.
   */
  enter(deadline: number, signal?: AbortSignal, place?: number): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error)
    if (place === undefined && this.#waiters.size >= this.#settings.maxWaiting) {
      return Promise.reject(this.#settings.full(this.#waiters.size))
    }
    return new Promise((resolve, reject) => {
      const stopListening =
        signal &&
        onAbort(signal, () => {
          this.#remove(waiter)
          reject(signal.reason as Error)
        })
      const waiter: Waiter = { resolve, reject, deadline, stopListening, place }
      if (place === undefined) this.#waiters.add(waiter)
      else this.#refused.add(waiter)
    })
  }

  /** Ends the waits whose deadline has come. */
  sweep(now: number): void {
    const waiting = this.size
    if (waiting === 0) return
    for (const waiter of [...this.#refused, ...this.#waiters]) {
      if (waiter.deadline > now) continue
      this.#leave(waiter)
      waiter.reject(this.#settings.overdue(waiting))
    }
  }

  /** Lets everybody go on. */
  open(): void {
    for (const waiter of this.#all()) {
      this.#leave(waiter)
      waiter.resolve()
    }
  }

  /** Sends everybody away, each with an error of his own. */
  fail(error: () => Error): void {
    for (const waiter of this.#all()) {
      this.#leave(waiter)
      waiter.reject(error())
    }
  }

  #all(): Iterable<Waiter> {
    if (this.#refused.size === 0) return this.#waiters
    return [...[...this.#refused].sort((a, b) => a.place! - b.place!), ...this.#waiters]
  }

  #remove(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    this.#refused.delete(waiter)
  }

  #leave(waiter: Waiter): void {
    this.#remove(waiter)
    waiter.stopListening?.()
  }
}
