import { Backoff } from '../async/backoff.js'

/** Between two tries of what was refused. The cap keeps a wait for the end of a LOADING or a NOREPLICAS cheap for the server. */
const PAUSE = { minMs: 5, maxMs: 250 } as const
/** Who was sent ahead and is not answered within this, in ms, is not waited for. */
const ANSWER_MS = 500

export interface RefusedWritesSettings {
  /** The pause is over: some may go ahead, to find out whether writes are accepted. */
  onTry(): void
  /** Writes are accepted: all may go. */
  onOver(): void
}

/**
 * While a master refuses writes for now (LOADING, NOREPLICAS, BUSY, READONLY), all writes of the shard pause together, and
 * the first of them knock for all: repeated each by itself, a later write to a key would overtake an earlier one, which
 * would then win.
 */
export class RefusedWrites {
  /** Counts the writes that were accepted since some were refused: a call that alone is refused must not hold the others. */
  acceptances = 0
  readonly #settings: RefusedWritesSettings
  readonly #backoff = new Backoff(PAUSE)
  readonly #places = new WeakMap<Error, number>()
  #lastPlace = 0
  #timer: NodeJS.Timeout | undefined
  #trying = false
  #lately = false

  constructor(settings: RefusedWritesSettings) {
    this.#settings = settings
  }

  /** True while no write goes out but those that knock. */
  get paused(): boolean {
    return this.#timer !== undefined
  }

  /**
   * The place of a refused write among the others: that of its refusal, since replies come in the order of the calls. Asked
   * for at once, as their callers learn of it after more steps or fewer.
   */
  placeOf(refusal: Error): number {
    const place = this.#places.get(refusal) ?? ++this.#lastPlace
    this.#places.set(refusal, place)
    return place
  }

  refused(): void {
    this.#lately = true
    if (this.paused && !this.#trying) return
    this.#trying = false
    this.#arm(this.#backoff.next())
  }

  /** A write was accepted. */
  accepted(): void {
    if (!this.#lately) return
    const { paused } = this
    this.acceptances++
    this.reset()
    if (paused) this.#settings.onOver()
  }

  /** A new connection is a new chance. Nobody is told, and no timer is left. */
  reset(): void {
    this.#lately = false
    this.#trying = false
    this.#backoff.reset()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#trying = true
      this.#arm(ANSWER_MS)
      this.#settings.onTry()
    }, ms)
  }
}
