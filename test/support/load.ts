import { keyOf, type TestPool } from './pool-on-topology.js'

export interface CallRecord {
  readonly shard: string
  readonly kind: 'set' | 'get'
  readonly key: string
  readonly value: string
  readonly startedAt: number
  readonly endedAt: number
  /** Undefined when it was answered. */
  readonly error: unknown
  /** What a read gave. */
  readonly reply: unknown
}

const WORKERS = 3
const PAUSE_MS = 2

/**
 * An app: on every shard some callers that write a fresh key and read it back, over and over. Records how each call ended.
 * Times are of `performance.now()`.
 */
export class Load {
  readonly calls: CallRecord[] = []
  readonly #pool: TestPool
  readonly #prefix: string
  readonly #workers: Promise<void>[]
  #stopped = false
  #count = 0

  constructor(pool: TestPool, shards: readonly string[], prefix = 'load') {
    this.#pool = pool
    this.#prefix = prefix
    this.#workers = shards.flatMap((shard) =>
      Array.from({ length: WORKERS }, () => this.#work(shard, keyOf(pool, shard, prefix))),
    )
  }

  /** Lets every call end. A call that never does is not hidden: this then never resolves. */
  async stop(): Promise<readonly CallRecord[]> {
    this.#stopped = true
    await Promise.all(this.#workers)
    return this.calls
  }

  async #work(shard: string, tag: string): Promise<void> {
    while (!this.#stopped) {
      const key = `${tag}:${this.#prefix}:${this.#count++}`
      await this.#call(shard, 'set', key, () => this.#pool.set(key, key))
      await this.#call(shard, 'get', key, () => this.#pool.get(key))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  async #call(shard: string, kind: 'set' | 'get', key: string, send: () => Promise<unknown>): Promise<void> {
    const startedAt = performance.now()
    let error: unknown
    let reply: unknown
    try {
      reply = await send()
    } catch (caught) {
      error = caught
    }
    this.calls.push({ shard, kind, key, value: key, startedAt, endedAt: performance.now(), error, reply })
  }
}

/** How the errors are spread, for an assertion that tells more than a number. */
export function errorsByCode(calls: readonly CallRecord[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { error } of calls) {
    if (error === undefined) continue
    const { code, message } = error as { code?: string; message?: string }
    const word = code ?? message ?? String(error)
    counts[word] = (counts[word] ?? 0) + 1
  }
  return counts
}
