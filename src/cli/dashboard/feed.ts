import { formatAddress, inspectTopology, type PoolOptions, type TopologyPicture } from '../../index.js'
import type { CommandPool } from '../pool.js'
import { type Snapshot, snapshotOf } from './snapshot.js'

/** What is needed of a pool; every ShardedSentinelPool is one. */
export type DashboardPool = Pick<CommandPool, 'on' | 'off' | 'stats' | 'ring' | 'isOpen'>

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
  readonly #options: PoolOptions | undefined
  readonly #listeners = new Set<(message: Message) => void>()
  readonly #abort = new AbortController()
  readonly #unlisten: (() => void)[] = []
  readonly #told = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #before: { readonly at: number; readonly stats: ReturnType<DashboardPool['stats']> } | undefined
  #picture: TopologyPicture | undefined
  #turn = 0

  /** @param options of the pool: with them servers are inspected too */
  constructor(pool: DashboardPool, options: PoolOptions | undefined) {
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
    for (const off of this.#unlisten) off()
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
    const listen = <E extends 'failover' | 'reconnect' | 'shard-down' | 'sentinel' | 'sentinel-state'>(
      event: E,
      describe: (detail: Parameters<Parameters<typeof pool.on<E>>[1]>[0]) => Omit<Happening, 'at' | 'kind'> | undefined,
    ) => {
      const listener = ((detail: never) => {
        const told = describe(detail)
        if (told !== undefined) this.#happen({ at: Date.now(), kind: event, ...told })
      }) as Parameters<typeof pool.on<E>>[1]
      pool.on(event, listener)
      this.#unlisten.push(() => pool.off(event, listener))
    }
    listen('failover', ({ shard, from, to, reason, durationMs }) => ({
      shard,
      durationMs,
      text: `moved from ${from ? formatAddress(from) : 'nowhere'} to ${formatAddress(to)} in ${Math.round(durationMs)} ms (${reason})`,
    }))
    listen('reconnect', ({ shard, address, reason, durationMs }) => ({
      shard,
      durationMs,
      text: `connected anew to ${formatAddress(address)} in ${Math.round(durationMs)} ms (${reason})`,
    }))
    listen('shard-down', ({ shard, reason }) => ({
      shard,
      durationMs: undefined,
      text: `no usable connection (${reason})`,
    }))
    listen('sentinel-state', ({ state, reachable, known }) => ({
      shard: undefined,
      durationMs: undefined,
      text: state === 'watching' ? `${reachable} of ${known} sentinels can be heard` : 'no sentinel can be heard',
    }))
    listen('sentinel', ({ event, masterName, message }) => {
      if (!NEWS.test(event) || !this.#isNew(`${event} ${message}`)) return undefined
      return { shard: masterName || undefined, durationMs: undefined, text: `${event} ${message}` }
    })
  }

  /** Every sentinel tells the same; the first within two seconds counts. */
  #isNew(words: string): boolean {
    if (this.#told.has(words)) return false
    this.#told.add(words)
    setTimeout(() => this.#told.delete(words), 2_000).unref()
    return true
  }

  #happen(happening: Happening): void {
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
