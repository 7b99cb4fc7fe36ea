import { monotonicNow } from './deadline.js'

export interface PaceSettings {
  /** So many may go at once. */
  readonly burst: number
  /** And so many in each second after that. */
  readonly perSecond: number
  /** Source of randomness in [0, 1). @default Math.random */
  readonly random?: () => number
  readonly now?: () => number
}

/**
 * A bound on how often something is done: a bucket of `burst` tokens that fills by `perSecond`. Over any stretch of time no
 * more than `burst` and what has filled meanwhile. The jitter only ever lengthens a wait, so the bound stands.
 */
export class Pace {
  readonly #burst: number
  readonly #perMs: number
  readonly #random: () => number
  readonly #now: () => number
  /** Below 0: so many wait for theirs already. */
  #tokens: number
  #at: number

  constructor({ burst, perSecond, random = Math.random, now = monotonicNow }: PaceSettings) {
    this.#burst = burst
    this.#perMs = perSecond / 1_000
    this.#random = random
    this.#now = now
    this.#tokens = burst
    this.#at = now()
  }

  /** Takes a token, and says for how long to wait until it is there, in ms: 0 while there are some. */
  take(): number {
    const now = this.#now()
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs) - 1
    this.#at = now
    if (this.#tokens >= 0) return 0
    return (-this.#tokens + 0.5 * this.#random()) / this.#perMs
  }

  /** It was not needed after all. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }
}
