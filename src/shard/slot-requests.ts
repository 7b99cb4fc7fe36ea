import { bounded } from '../async/deadline.js'
import type { Slot, SlotPool } from './slot-pool.js'

/** The end of a wait for a slot, where it is another than `acquireTimeoutMs` from now. */
export interface WaitLimit {
  /** As `performance.now()` has it. */
  readonly deadline: number
  readonly onTimeout: () => Error
  readonly signal: AbortSignal | undefined
}

/**
 * What borrowers have asked generic-pool for. It has no way to take a request back: what was asked for by one who has gone
 * stays in its queue, where it would count as waiting, until its time is up. So the next borrower takes it over.
 */
export class SlotRequests {
  readonly #pool: Pick<SlotPool, 'acquire' | 'release' | 'pending'>
  readonly #unclaimed = new Set<Promise<Slot | undefined>>()
  readonly #full: (cause: unknown) => Error

  /** `full` makes the error for a request that finds too many before it. */
  constructor(pool: Pick<SlotPool, 'acquire' | 'release' | 'pending'>, full: (cause: unknown) => Error) {
    this.#pool = pool
    this.#full = full
  }

  /** How many borrowers wait. */
  get pending(): number {
    return Math.max(0, this.#pool.pending - this.#unclaimed.size)
  }

  /** True when the next `wait` takes over what somebody else has asked for: its time is not the caller's then. */
  get hasUnclaimed(): boolean {
    return this.#unclaimed.size > 0
  }

  /** The next free slot; undefined when the time of the request is up. Rejects as `limit` says, and when too many wait. */
  wait(limit: WaitLimit | undefined): Promise<Slot | undefined> {
    const coming = this.#takeUnclaimed() ?? this.#request()
    return limit === undefined ? coming : this.#claim(coming, limit)
  }

  #takeUnclaimed(): Promise<Slot | undefined> | undefined {
    for (const coming of this.#unclaimed) {
      this.#unclaimed.delete(coming)
      return coming
    }
    return undefined
  }

  async #request(): Promise<Slot | undefined> {
    try {
      return await this.#pool.acquire()
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') return undefined
      throw this.#full(error)
    }
  }

  async #claim(
    coming: Promise<Slot | undefined>,
    { deadline, onTimeout, signal }: WaitLimit,
  ): Promise<Slot | undefined> {
    let isHere = false
    const onEnd = () => {
      isHere = true
      if (this.#unclaimed.delete(coming)) this.#giveBack(coming)
    }
    coming.then(onEnd, onEnd)
    try {
      return await bounded(coming, { timeoutMs: Math.max(0, deadline - performance.now()), onTimeout, signal })
    } catch (error) {
      if (isHere) this.#giveBack(coming)
      else this.#unclaimed.add(coming)
      throw error
    }
  }

  #giveBack(coming: Promise<Slot | undefined>): void {
    coming.then((slot) => slot && this.#pool.release(slot)).catch(() => {})
  }
}
