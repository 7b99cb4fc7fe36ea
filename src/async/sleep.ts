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
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (settings?.ref === false) timer.unref()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
