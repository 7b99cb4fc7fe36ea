import { onAbort } from './abort.js'

import { monotonicNow } from './deadline.js'

export interface SleepSettings {
  /** False: the process may exit while this is the only thing left. @default true */
  readonly ref?: boolean
}

/**
 * Resolves after `ms`. Rejects with the signal's reason as soon as it aborts, at once when it already has.
 * Leaves neither a timer nor a listener behind, whichever way it ends.
 */
export function sleep(ms: number, signal?: AbortSignal, settings?: SleepSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const timer = setTimeout(() => {
      stopListening?.()
      resolve()
    }, ms)
    if (settings?.ref === false) timer.unref()
    const stopListening =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer)
        reject(signal.reason as Error)
      })
  })
}

/**
 * Milliseconds until the next multiple of `intervalMs`: what is done at such moments wakes an idle process once for all of it.
 * One more for the system's timers, which may fire a little early.
 */
export function untilStroke(intervalMs: number): number {
  return Math.ceil(intervalMs - (monotonicNow() % intervalMs)) + 1
}
