import { Backoff } from '../async/backoff.js'

/** Between two tries of what was refused. The cap bounds how long what the server would take by now still waits. */
export const REFUSED_PAUSE = { minMs: 5, maxMs: 250 } as const
/** Without a refusal for so long, in ms, the next one is the first of others. */
const QUIET_MS = 1_000

export interface RefusedWritesSettings {
  /** From now on no write may go out. */
  onPause(): void
  /** The pause is over, and all may go. */
  onOver(): void
}

interface Refusal {
  readonly place: number
  /** Later when it has been told of: twice is a refusal anew. */
  at: number
}

/**
 * While a master refuses writes for now (LOADING, NOREPLICAS, BUSY, READONLY), those of the shard pause together and go out
 * together, in the order they were called: repeated each by itself, a later write to a key would overtake an earlier one,
 * which would then win. A pause ends by its own time, whatever the server says: it costs at most `REFUSED_PAUSE.maxMs`.
 */
export class RefusedWrites {
  readonly #settings: RefusedWritesSettings
  readonly #backoff = new Backoff(REFUSED_PAUSE)
  readonly #refusals = new WeakMap<Error, Refusal>()
  #lastPlace = 0
  #timer: NodeJS.Timeout | undefined
  #cause: Error | undefined
  #closed = false
  #endedAt = Number.NEGATIVE_INFINITY

  constructor(settings: RefusedWritesSettings) {
    this.#settings = settings
  }

  /** What began the pause; undefined when none is. */
  get cause(): Error | undefined {
    return this.paused ? this.#cause : undefined
  }

  /** True while no write goes out. */
  get paused(): boolean {
    return this.#timer !== undefined
  }

  /**
   * The place of a refused write among the others: that of its refusal, since replies come in the order of the calls. Asked
   * for at once, as their callers learn of it after more steps or fewer.
   */
  placeOf(error: Error): number {
    return this.#refusal(error).place
  }

  /** A write was refused: a pause begins, unless one goes on, or has been since. */
  refused(error: Error): void {
    const refusal = this.#refusal(error)
    const { at } = refusal
    refusal.at = Number.POSITIVE_INFINITY
    if (this.#closed || this.paused || at < this.#endedAt) return
    this.#cause = error
    if (performance.now() - this.#endedAt > QUIET_MS) this.#backoff.reset()
    this.#timer = setTimeout(() => {
      this.reset()
      this.#settings.onOver()
    }, this.#backoff.next())
    this.#settings.onPause()
  }

  /** Ends the pause, if any, and tells nobody. No timer is left. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#endedAt = performance.now()
  }

  close(): void {
    this.#closed = true
    this.reset()
  }

  #refusal(error: Error): Refusal {
    let refusal = this.#refusals.get(error)
    if (refusal === undefined) {
      refusal = { place: ++this.#lastPlace, at: performance.now() }
      this.#refusals.set(error, refusal)
    }
    return refusal
  }
}
