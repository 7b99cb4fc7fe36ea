import { TopologyError, type TopologyErrorCode } from './topology-error.js'

/** What a probe saw: the state that was waited for, or one sentence on what is still missing. */
export type Seen<T> = { readonly ready: T } | { readonly missing: string }

export interface WaitSettings {
  /** What is waited for, for the error: `'cache-a to have a new master'`. */
  readonly what: string
  readonly timeoutMs: number
  /** Between the end of one look and the next. Default 20 ms. */
  readonly intervalMs?: number
  /** Logs and the like, put at the end of the error. */
  readonly evidence?: () => string
  readonly signal?: AbortSignal | undefined
}

/**
 * Looks again and again until the state is there: for states of other processes, which send no event. A probe that throws
 * counts as not ready. Throws `WAIT_TIMEOUT` with the last thing seen, or the signal's reason.
 */
export async function waitUntil<T>(settings: WaitSettings, probe: () => Promise<Seen<T>>): Promise<T> {
  const { what, timeoutMs, intervalMs = 20, evidence, signal } = settings
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const seen = await look(probe)
    if ('ready' in seen) return seen.ready
    if (performance.now() >= deadline) {
      const message = `waited ${timeoutMs} ms for ${what}; last seen: ${seen.missing}${evidence ? `\n${evidence()}` : ''}`
      throw new TopologyError('WAIT_TIMEOUT', message)
    }
    await pause(intervalMs)
  }
}

const PASSING: ReadonlySet<TopologyErrorCode> = new Set(['NOT_CONNECTED', 'COMMAND_TIMEOUT', 'ERROR_REPLY'])

async function look<T>(probe: () => Promise<Seen<T>>): Promise<Seen<T>> {
  try {
    return await probe()
  } catch (error) {
    // A server that is not up yet, or frozen, is a state to wait through; a mistake in the probe is not.
    if (error instanceof TopologyError && PASSING.has(error.code)) return { missing: error.message }
    throw error
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
