import { onAbort } from './abort.js'

/** Monotonic ms, never set back by a corrected wall clock. */
export const monotonicNow = (): number => performance.now()

/** A moment that an attempt of several steps must end by; each step asks what is left. */
export class Deadline {
  readonly #at: number
  readonly #now: () => number

  constructor(timeoutMs: number, now: () => number = monotonicNow) {
    this.#now = now
    this.#at = now() + timeoutMs
  }

  /** Never below 0. */
  get remainingMs(): number {
    return Math.max(0, this.#at - this.#now())
  }

  get expired(): boolean {
    return this.remainingMs <= 0
  }
}

/** What a timer takes, in ms: with more it would fire at once. */
export const LONGEST_MS = 2 ** 31 - 1

export interface BoundSettings {
  /** In ms; above `LONGEST_MS`, Infinity too, it is that. */
  readonly timeoutMs: number
  /** Makes the error to reject with when the time is up. */
  readonly onTimeout: () => Error
  readonly signal?: AbortSignal | undefined
}

/**
 * Settles as `promise` does, or rejects when the time is up or the signal aborts, whichever comes first. The loser's
 * rejection is swallowed: it was reported by the winner's.
 */
export function bounded<T>(promise: Promise<T>, settings: BoundSettings): Promise<T> {
  const { signal } = settings
  return new Promise<T>((resolve, reject) => {
    const finish = () => {
      settled = true
      clearTimeout(timer)
      stopListening?.()
    }
    const abort = () => {
      finish()
      reject(signal?.reason as Error)
    }
    let settled = false
    let stopListening: (() => void) | undefined
    const timer = setTimeout(
      () => {
        // After a blocked event loop the timer comes first and the answer is already in the socket: let it be read.
        setImmediate(() => {
          if (settled) return
          finish()
          reject(settings.onTimeout())
        })
      },
      Math.min(settings.timeoutMs, LONGEST_MS),
    )
    promise.then(
      (value) => {
        finish()
        resolve(value)
      },
      (error: unknown) => {
        finish()
        reject(error as Error)
      },
    )
    if (signal?.aborted) abort()
    else if (signal !== undefined) stopListening = onAbort(signal, abort)
  })
}
