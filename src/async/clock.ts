/**
 * One coarse timer for all deadlines of a pool. Reading `now` costs a property; a deadline kept by it ends at most one
 * tick late. The timer is unref'd: it never keeps a process alive.
 */
export class CoarseClock {
  readonly tickMs: number
  /** Milliseconds of `performance.now()`, at most one tick old. */
  now = performance.now()
  readonly #listeners = new Set<(now: number) => void>()
  #timer: NodeJS.Timeout | undefined

  constructor(tickMs: number) {
    this.tickMs = tickMs
  }

  /** Calls back every tick until the returned function is called. The first listener starts the timer. */
  onTick(listener: (now: number) => void): () => void {
    this.#listeners.add(listener)
    if (this.#timer === undefined) {
      this.now = performance.now()
      this.#timer = setInterval(() => this.#tick(), this.tickMs)
      this.#timer.unref()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0 && this.#timer !== undefined) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
    }
  }

  /** Reads the real clock, for decisions off the way of an ordinary command. */
  refresh(): number {
    this.now = performance.now()
    return this.now
  }

  /** Resolves at the next tick; never once nobody listens any more. */
  nextTick(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.onTick(() => {
        stop()
        resolve()
      })
    })
  }

  #tick(): void {
    const now = this.refresh()
    for (const listener of this.#listeners) listener(now)
  }
}
