import type { RoundTripStats } from '../stats.js'

/** Four a second under traffic, so about a minute. */
const KEPT = 256

/**
 * The last round trips of one shard. They are measured on the fences that follow the traffic anyway (see
 * `SharedConnection`), so no command pays for them: a fence waits in the same queues, here and in the server, as a command
 * sent at that moment.
 */
export class RoundTrips {
  readonly #last = new Float64Array(KEPT)
  #count = 0

  add(ms: number): void {
    this.#last[this.#count % KEPT] = ms
    this.#count++
  }

  stats(): RoundTripStats | undefined {
    if (this.#count === 0) return undefined
    const sorted = this.#last.slice(0, Math.min(this.#count, KEPT)).sort()
    // The nearest rank: the smallest one that so many are not above.
    const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1]!
    return { samples: this.#count, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1)! }
  }
}
