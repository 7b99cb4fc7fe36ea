import { type ShardedSentinelPool, ShardedSentinelPoolError } from '../library.js'
import type { Entry, Fate, Ledger } from './ledger.js'
import { SessionStore } from './session-store.js'

export type Kind = 'create' | 'read' | 'touch' | 'expire'

/** One operation of the app that has ended. */
export interface Ended {
  readonly shard: string
  readonly kind: Kind
  readonly tookMs: number
  readonly error: unknown
}

export interface TrafficSettings {
  readonly pool: ShardedSentinelPool
  readonly ledger: Ledger
  readonly perSecond: number
  onStart(shard: string): void
  onEnd(operation: Ended): void
}

const TICK_MS = 10

/**
 * Visitors of a web site: they come at a steady rate whether the answers come or not, and each waits for the answer
 * before asking again. So a shard that is down holds up its own sessions and nobody else's.
 */
export class Traffic {
  readonly #settings: TrafficSettings
  readonly #store: SessionStore
  /** Sessions that wait for nothing. */
  readonly #idle: Entry[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  readonly #startedAt = performance.now()
  #started = 0
  #sessions = 0

  constructor(settings: TrafficSettings) {
    this.#settings = settings
    this.#store = new SessionStore(settings.pool)
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  get inFlight(): number {
    return this.#running.size
  }

  /** Starts nothing more; resolves with what has not ended after `withinMs`. */
  async stop(withinMs: number): Promise<number> {
    clearInterval(this.#timer)
    let bound: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      bound = setTimeout(resolve, withinMs)
    })
    await Promise.race([Promise.all(this.#running), late])
    clearTimeout(bound)
    return this.#running.size
  }

  #tick(): void {
    const due = ((performance.now() - this.#startedAt) / 1_000) * this.#settings.perSecond
    for (; this.#started < due; this.#started++) {
      const visit = this.#visit()
      this.#running.add(visit)
      void visit.finally(() => this.#running.delete(visit))
    }
  }

  async #visit(): Promise<void> {
    const dice = Math.random()
    const known = dice < 0.1 ? undefined : this.#takeIdle()
    if (known === undefined) return this.#create()
    const kind = dice < 0.15 ? 'expire' : dice < 0.55 ? 'touch' : 'read'
    const { ledger } = this.#settings
    if (kind === 'read') await this.#timed(known, kind, () => this.#store.read(known.id))
    if (kind === 'touch') {
      const { fate, value } = await this.#timed(known, kind, () => this.#store.touch(known.id))
      ledger.touched(known, fate, value)
    }
    if (kind === 'expire') {
      const { fate } = await this.#timed(known, kind, () => this.#store.expire(known.id))
      ledger.expired(known, fate)
      if (fate !== 'refused') return
    }
    this.#idle.push(known)
  }

  async #create(): Promise<void> {
    const id = String(++this.#sessions)
    const { pool, ledger } = this.#settings
    const entry = ledger.open(id, pool.locate(SessionStore.key(id)))
    const { fate } = await this.#timed(entry, 'create', () => this.#store.create(id, `visitor ${id}`))
    ledger.created(entry, fate)
    if (fate === 'acknowledged') this.#idle.push(entry)
  }

  async #timed<T>(entry: Entry, kind: Kind, run: () => Promise<T>): Promise<{ fate: Fate; value?: T }> {
    const { onStart, onEnd } = this.#settings
    const since = performance.now()
    const end = (error: unknown) => onEnd({ shard: entry.shard, kind, tookMs: performance.now() - since, error })
    onStart(entry.shard)
    try {
      const value = await run()
      end(undefined)
      return { fate: 'acknowledged', value }
    } catch (error) {
      end(error)
      return { fate: mayHaveRun(error) ? 'unknown' : 'refused' }
    }
  }

  #takeIdle(): Entry | undefined {
    const at = Math.floor(Math.random() * this.#idle.length)
    const last = this.#idle.pop()
    if (last === undefined || at === this.#idle.length) return last
    const taken = this.#idle[at]
    this.#idle[at] = last
    return taken
  }
}

/** How an app tells the two kinds of failure apart: only `outcome: 'unknown'` may have run. */
function mayHaveRun(error: unknown): boolean {
  return error instanceof ShardedSentinelPoolError && 'outcome' in error && error.outcome === 'unknown'
}
