import {
  type FailoverEvent,
  formatAddress,
  inspectTopology,
  type PoolStats,
  type ReconnectEvent,
  type Ring,
  type SentinelEvent,
  type SentinelStateEvent,
  type ShardDownEvent,
  type TopologyOptions,
  type TopologyPicture,
} from '../../index.js'
import { type Snapshot, snapshotOf } from './snapshot.js'

/** What is needed of a pool; every ShardedSentinelPool is one. */
export interface DashboardPool {
  readonly ring: Ring
  stats(): PoolStats
  on(event: 'failover', listener: (event: FailoverEvent) => void): unknown
  on(event: 'reconnect', listener: (event: ReconnectEvent) => void): unknown
  on(event: 'shard-down', listener: (event: ShardDownEvent) => void): unknown
  on(event: 'sentinel', listener: (event: SentinelEvent) => void): unknown
  on(event: 'sentinel-state', listener: (event: SentinelStateEvent) => void): unknown
  off(event: 'failover', listener: (event: FailoverEvent) => void): unknown
  off(event: 'reconnect', listener: (event: ReconnectEvent) => void): unknown
  off(event: 'shard-down', listener: (event: ShardDownEvent) => void): unknown
  off(event: 'sentinel', listener: (event: SentinelEvent) => void): unknown
  off(event: 'sentinel-state', listener: (event: SentinelStateEvent) => void): unknown
}

/** Something that happened, for the time line. */
export interface Happening {
  readonly at: number
  readonly kind: 'failover' | 'reconnect' | 'shard-down' | 'sentinel' | 'sentinel-state'
  readonly shard: string | undefined
  readonly text: string
  /** Of a failover and a reconnect: it began so long before `at`. */
  readonly durationMs: number | undefined
}

export type Message =
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly type: 'happening'; readonly happening: Happening }

const PERIOD_MS = 1_000
/** Servers are asked half as often as the pool, which costs nothing to ask. */
const INSPECT_EVERY = 2
/** Five minutes. */
const KEPT_SNAPSHOTS = 300
const KEPT_HAPPENINGS = 200
/** Sentinel's news that a person wants on a time line. */
const NEWS =
  /^[+-](sdown|odown|try-failover|elected-leader|selected-slave|promoted-slave|switch-master|failover-end|failover-abort.*|tilt|slave)$/

/** Looks at the pool once a second and listens to it; keeps five minutes, so that a page that is opened later shows them. */
export class Feed {
  readonly snapshots: Snapshot[] = []
  readonly happenings: Happening[] = []
  readonly #pool: DashboardPool
  readonly #options: TopologyOptions | undefined
  readonly #listeners = new Set<(message: Message) => void>()
  readonly #abort = new AbortController()
  readonly #told = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #before: { readonly at: number; readonly stats: ReturnType<DashboardPool['stats']> } | undefined
  #picture: TopologyPicture | undefined
  #turn = 0
  #unlisten = () => {}

  /** @param options of the pool: with them servers are inspected too */
  constructor(pool: DashboardPool, options: TopologyOptions | undefined) {
    this.#pool = pool
    this.#options = options
  }

  start(): void {
    this.#listen()
    this.#look()
    this.#timer = setInterval(() => this.#look(), PERIOD_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#abort.abort(new Error('stopped'))
    this.#unlisten()
    this.#listeners.clear()
  }

  onMessage(listener: (message: Message) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #look(): void {
    if (this.#turn++ % INSPECT_EVERY === 0) void this.#inspect()
    const stats = this.#pool.stats()
    const at = performance.now()
    const seconds = this.#before === undefined ? 0 : (at - this.#before.at) / 1_000
    const ring = this.#pool.ring.describe()
    const snapshot = snapshotOf(Date.now(), stats, this.#before?.stats, seconds, ring, this.#picture)
    this.#before = { at, stats }
    keep(this.snapshots, snapshot, KEPT_SNAPSHOTS)
    this.#tell({ type: 'snapshot', snapshot })
  }

  /** What cannot be asked is in the picture as well; only wrong options reject, and the pool has checked them. */
  async #inspect(): Promise<void> {
    if (this.#options === undefined) return
    const { signal } = this.#abort
    this.#picture = await inspectTopology(this.#options, { signal, timeoutMs: PERIOD_MS }).catch(() => undefined)
  }

  #listen(): void {
    const pool = this.#pool
    const onFailover = ({ shard, from, to, reason, durationMs }: FailoverEvent) => {
      const where = `from ${from ? formatAddress(from) : 'nowhere'} to ${formatAddress(to)}`
      this.#happen('failover', shard, `moved ${where} in ${Math.round(durationMs)} ms (${reason})`, durationMs)
    }
    const onReconnect = ({ shard, address, reason, durationMs }: ReconnectEvent) => {
      const where = formatAddress(address)
      this.#happen(
        'reconnect',
        shard,
        `connected anew to ${where} in ${Math.round(durationMs)} ms (${reason})`,
        durationMs,
      )
    }
    const onDown = ({ shard, reason }: ShardDownEvent) =>
      this.#happen('shard-down', shard, `no usable connection (${reason})`)
    const onState = ({ state, reachable, known }: SentinelStateEvent) =>
      this.#happen(
        'sentinel-state',
        undefined,
        state === 'watching' ? `${reachable} of ${known} sentinels can be heard` : 'no sentinel can be heard',
      )
    const onNews = ({ event, masterName, message }: SentinelEvent) => {
      const words = `${event} ${message}`
      if (NEWS.test(event) && this.#isNew(words)) this.#happen('sentinel', masterName || undefined, words)
    }
    pool.on('failover', onFailover)
    pool.on('reconnect', onReconnect)
    pool.on('shard-down', onDown)
    pool.on('sentinel-state', onState)
    pool.on('sentinel', onNews)
    this.#unlisten = () => {
      pool.off('failover', onFailover)
      pool.off('reconnect', onReconnect)
      pool.off('shard-down', onDown)
      pool.off('sentinel-state', onState)
      pool.off('sentinel', onNews)
    }
  }

  /** Every sentinel tells the same; the first within two seconds counts. */
  #isNew(words: string): boolean {
    if (this.#told.has(words)) return false
    this.#told.add(words)
    setTimeout(() => this.#told.delete(words), 2_000).unref()
    return true
  }

  #happen(kind: Happening['kind'], shard: string | undefined, text: string, durationMs?: number): void {
    const happening = { at: Date.now(), kind, shard, text, durationMs }
    keep(this.happenings, happening, KEPT_HAPPENINGS)
    this.#tell({ type: 'happening', happening })
  }

  #tell(message: Message): void {
    for (const listener of this.#listeners) listener(message)
  }
}

function keep<T>(list: T[], item: T, most: number): void {
  list.push(item)
  if (list.length > most) list.shift()
}
