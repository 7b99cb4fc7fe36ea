/** All who wait for one signal: it has one listener however many they are. */
class Waiters {
  readonly #signal: AbortSignal
  readonly #callbacks = new Set<() => void>()
  readonly #onAbort = () => {
    waiters.delete(this.#signal)
    for (const callback of this.#callbacks) callback()
  }

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  add(callback: () => void): void {
    this.#callbacks.add(callback)
  }

  remove(callback: () => void): void {
    if (!this.#callbacks.delete(callback) || this.#callbacks.size > 0) return
    waiters.delete(this.#signal)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

const waiters = new WeakMap<AbortSignal, Waiters>()

/**
 * Calls back when the signal aborts, unless the returned function is called before. From eleven listeners on Node warns of
 * a leak, and it goes through all of them to add or remove one, so that calls with one signal would slow each other down.
 * The signal must not have aborted yet; each call needs a callback of its own, which must not throw.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let all = waiters.get(signal)
  if (all === undefined) {
    all = new Waiters(signal)
    waiters.set(signal, all)
  }
  all.add(callback)
  return () => all.remove(callback)
}
