import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandPool } from '../pool.js'

/** What the probe saw of one shard. Times are ms since the drill began. */
export interface ProbeReport {
  readonly shard: string
  readonly operations: number
  /** By error code, such as `COMMAND_TIMEOUT`, or the first word of the server's reply. */
  readonly errors: Readonly<Record<string, number>>
  /** Writes that ended without saying whether they ran. */
  readonly unknown: number
  readonly longestMs: number
  /** The longest time without a write that succeeded: the window in which an app would have felt it. */
  readonly windowMs: number
  readonly windowFrom: number | undefined
}

interface Tally {
  operations: number
  errors: Record<string, number>
  unknown: number
  longestMs: number
  windowMs: number
  windowFrom: number | undefined
  lastGoodAt: number
}

/** Beyond the time between two writes, so much counts as a window. */
const NOISE_MS = 50

/** A write and a read per turn on every shard, a few times a second: enough to see a window, too little to hurt. */
export class Probe {
  readonly #pool: CommandPool
  readonly #since: number
  readonly #keys: ReadonlyMap<string, string>
  readonly #tallies = new Map<string, Tally>()
  readonly #intervalMs: number
  readonly #running = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  constructor(pool: CommandPool, intervalMs: number, since: number) {
    this.#pool = pool
    this.#since = since
    this.#intervalMs = intervalMs
    this.#keys = probeKeys(pool)
  }

  start(): void {
    for (const shard of this.#keys.keys()) {
      this.#tallies.set(shard, {
        operations: 0,
        errors: {},
        unknown: 0,
        longestMs: 0,
        windowMs: 0,
        windowFrom: undefined,
        lastGoodAt: this.#now(),
      })
    }
    this.#loop = this.#run()
  }

  /** When the last write of this shard succeeded, in ms since the drill began. */
  lastGoodAt(shard: string): number {
    return this.#tallies.get(shard)?.lastGoodAt ?? 0
  }

  /** Sends no more and waits for what is under way: every call of the pool ends by its deadline. */
  async stop(): Promise<readonly ProbeReport[]> {
    this.#stop.abort()
    await this.#loop
    await Promise.all(this.#running)
    // A shard that never came back: its window is open to the end.
    for (const tally of this.#tallies.values()) this.#close(tally, this.#now())
    await Promise.all([...this.#keys.values()].map((key) => this.#pool.del(key).catch(() => {})))
    return [...this.#tallies].map(([shard, { lastGoodAt: _, ...rest }]) => ({ shard, ...rest }))
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      for (const [shard, key] of this.#keys) {
        const turn = this.#turn(shard, key).finally(() => this.#running.delete(turn))
        this.#running.add(turn)
      }
      await sleep(this.#intervalMs, undefined, { signal: this.#stop.signal }).catch(() => {})
    }
  }

  async #turn(shard: string, key: string): Promise<void> {
    const tally = this.#tallies.get(shard)!
    const from = this.#now()
    try {
      tally.operations++
      await this.#pool.set(key, String(from), { expiration: { type: 'EX', value: 60 } })
      this.#close(tally, this.#now())
      tally.lastGoodAt = this.#now()
      tally.operations++
      await this.#pool.get(key)
    } catch (error) {
      const { code, outcome, message } = error as { code?: string; outcome?: string; message: string }
      const name = code ?? message.split(' ', 1)[0]!
      tally.errors[name] = (tally.errors[name] ?? 0) + 1
      if (outcome === 'unknown') tally.unknown++
    } finally {
      tally.longestMs = Math.max(tally.longestMs, this.#now() - from)
    }
  }

  #close(tally: Tally, now: number): void {
    const silent = now - tally.lastGoodAt - this.#intervalMs
    if (silent <= Math.max(NOISE_MS, tally.windowMs)) return
    tally.windowMs = silent
    tally.windowFrom = tally.lastGoodAt
  }

  #now(): number {
    return performance.now() - this.#since
  }
}

/** One key on each shard that holds any. */
function probeKeys(pool: CommandPool): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  const wanted = pool.ring.describe().shards.filter(({ weight, share }) => weight > 0 && share !== 0).length
  for (let i = 0; keys.size < wanted && i < 100_000; i++) {
    const key = `sharded-sentinel-pool:drill:${i}`
    const shard = pool.locate(key)
    if (!keys.has(shard)) keys.set(shard, key)
  }
  return keys
}
