export interface BackoffSettings {
  /** First wait in ms, before jitter. */
  readonly minMs: number
  /** No wait is ever longer than this, in ms. */
  readonly maxMs: number
  /** Growth from one wait to the next. @default 2 */
  readonly factor?: number
  /** Share of a wait that is random, 0 to 1: with 0.5 a wait of 100 ms lies between 50 and 100. @default 0.5 */
  readonly jitter?: number
  /** Source of randomness in [0, 1). @default Math.random */
  readonly random?: () => number
}

/**
 * Exponential waits with a cap. The jitter only ever shortens a wait, so `maxMs` is a bound; it keeps many clients that
 * lost the same server at the same moment from coming back in lockstep.
 */
export class Backoff {
  readonly #minMs: number
  readonly #maxMs: number
  readonly #factor: number
  readonly #jitter: number
  readonly #random: () => number
  #ceiling: number

  constructor(settings: BackoffSettings) {
    this.#minMs = settings.minMs
    this.#maxMs = settings.maxMs
    this.#factor = settings.factor ?? 2
    this.#jitter = settings.jitter ?? 0.5
    this.#random = settings.random ?? Math.random
    this.#ceiling = Math.min(this.#minMs, this.#maxMs)
  }

  /** The next wait in ms. */
  next(): number {
    const ceiling = this.#ceiling
    // The ceiling is kept instead of computed from a count: a power of a large count overflows to Infinity.
    this.#ceiling = Math.min(ceiling * this.#factor, this.#maxMs)
    return ceiling * (1 - this.#jitter * this.#random())
  }

  reset(): void {
    this.#ceiling = Math.min(this.#minMs, this.#maxMs)
  }
}
