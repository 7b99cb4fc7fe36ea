/** At most one run per key at a time: whoever asks while one is under way gets the same promise. */
export class SingleFlight<K, T> {
  readonly #running = new Map<K, Promise<T>>()

  /** Keys with a run under way. */
  get size(): number {
    return this.#running.size
  }

  has(key: K): boolean {
    return this.#running.has(key)
  }

  /** Starts `work`, or joins the run of that key. The key is free again before the promise's own handlers run. */
  run(key: K, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    // Begun a microtask later, so that the entry is there before the work can end, even if it throws at once.
    const promise = Promise.resolve()
      .then(work)
      .finally(() => this.#running.delete(key))
    this.#running.set(key, promise)
    return promise
  }
}
