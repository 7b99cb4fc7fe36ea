import { onAbort } from './abort.js'
import { monotonicNow } from './deadline.js'

export interface CollectSettings<T> {
  /** Each must settle by itself in bounded time and never reject. */
  readonly parties: readonly Promise<T>[]
  /** Is this an answer at all, rather than a failure? */
  readonly isAnswer: (result: T) => boolean
  /** Is what came so far enough to go by? Asked after each result. */
  readonly isEnough: (results: readonly T[]) => boolean
  /** Once it is enough, late ones get so long to object, in ms. */
  readonly graceMs: number
  /** From the start: after so long whatever answers there are must do, in ms. */
  readonly settleMs: number
  /** But never sooner than so long after the first answer, in ms: on a slow line all answers are slow together. */
  readonly afterFirstMs: number
  readonly signal?: AbortSignal | undefined
  readonly now?: () => number
}

/**
 * Asks several parties at once and waits for as long as it pays: until all have settled, or enough agree, or the slow
 * ones have had their time. Without any answer it waits for the last one. Results come in the order of arrival.
 */
export function collect<T>(settings: CollectSettings<T>): Promise<readonly T[]> {
  const { parties, signal, now = monotonicNow } = settings
  const startedAt = now()
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const results: T[] = []
    const timers: NodeJS.Timeout[] = []
    let settled = false
    let enough = false
    let answered = false
    let open = parties.length
    const finish = () => {
      if (settled) return
      settled = true
      for (const timer of timers) clearTimeout(timer)
      stopListening?.()
      if (signal?.aborted) reject(signal.reason as Error)
      else resolve([...results])
    }
    const stopListening = signal && onAbort(signal, finish)
    // One turn later: after a blocked event loop the answers are in the sockets already and only want to be read.
    const after = (ms: number) => timers.push(setTimeout(() => setImmediate(finish), ms))
    if (open === 0) return finish()
    for (const party of parties) {
      party.then((result) => {
        if (settled) return
        open--
        results.push(result)
        if (open === 0) return finish()
        if (!answered && settings.isAnswer(result)) {
          answered = true
          after(Math.max(settings.settleMs - (now() - startedAt), settings.afterFirstMs))
        }
        if (!enough && settings.isEnough(results)) {
          enough = true
          after(settings.graceMs)
        }
      }, finish)
    }
  })
}
