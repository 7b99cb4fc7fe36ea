import { type Address, addressKey, sameAddress } from '../address.js'
import type { CoarseClock } from '../async/clock.js'
import { Pace } from '../async/pace.js'
import type { Settings } from '../options.js'
import type { ConnectionFactory } from '../redis-client.js'
import { askRole, type MasterSource } from '../sentinel/index.js'
import { turnOf } from './paced.js'
import { SharedConnection } from './shared-connection.js'

export interface ReplicaSetSettings {
  readonly name: string
  readonly settings: Settings
  readonly source: MasterSource
  readonly factory: ConnectionFactory
  readonly clock: CoarseClock
  /** True while the shard has its master: only then a replica that is not named any more is let go. */
  serving(): boolean
}

/** After a failed look a new one is made no sooner than this, in ms: a replica that is down costs a connect each time. */
const RETRY_MS = 1_000
/** A look asks every replica and the master on a connection of its own: so many at once, however often sentinels speak of them, then so many a second. */
const PACE = { burst: 3, perSecond: 2 } as const

/**
 * The replicas of one shard that reads may go to: one shared connection each, taken in turn. Made at the first read that
 * asks for one. Who is in it follows the sentinels; while the master is away the replicas stay, so that reads go on.
 */
export class ReplicaSet {
  readonly #settings: ReplicaSetSettings
  readonly #abort = new AbortController()
  readonly #replicas = new Map<string, SharedConnection>()
  /** The values of `#replicas` as an array, made anew at each change: what the way of a call reads. */
  #order: readonly SharedConnection[] = []
  #turn = 0
  #inUse = false
  #looking: Promise<void> | undefined
  #again = false
  readonly #pace = new Pace(PACE)
  /** After a look that found nobody, reads do not each look again. */
  #emptyUntil = 0
  #nextLookAt = Number.POSITIVE_INFINITY

  constructor(settings: ReplicaSetSettings) {
    this.#settings = settings
  }

  /** True from the first read on that asked for a replica: until then there is nothing to keep. */
  get inUse(): boolean {
    return this.#inUse
  }

  get addresses(): readonly Address[] {
    return this.#order.map((replica) => replica.connection.address)
  }

  get sockets(): number {
    return this.#order.length
  }

  /** The next replica in turn; undefined when there is none. */
  pick(): SharedConnection | undefined {
    const order = this.#order
    if (order.length === 0) return undefined
    this.#turn = (this.#turn + 1) % order.length
    return order[this.#turn]
  }

  /** Resolves when the first look, or the one under way, is done; at once when there is somebody already. */
  async settled(): Promise<void> {
    this.#inUse = true
    if (this.#order.length > 0 || this.#settings.clock.refresh() < this.#emptyUntil) return
    await this.refresh()
  }

  /** Asks who the replicas are, and connects to the new ones. Joins the look under way, and has it look once more. */
  refresh(): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve()
    if (this.#looking !== undefined) {
      this.#again = true
      return this.#looking
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      this.#again = false
      void this.refresh()
    })
    return this.#looking
  }

  /** This one did not answer as a replica should: it is left out until it is found good again. */
  drop(replica: SharedConnection, cause: Error): void {
    this.#remove(replica)
    replica.destroy(cause)
    this.#nextLookAt = Math.min(this.#nextLookAt, this.#settings.clock.refresh() + RETRY_MS)
  }

  /** The shard's master is here now: no replica any more. */
  retarget(master: Address): void {
    for (const replica of this.#order) {
      if (sameAddress(replica.connection.address, master)) this.drop(replica, new Error('promoted to master'))
    }
    // Whoever else there is turns to the new master and is out of date until it has: look at once, and again soon.
    void this.refresh()
    this.#nextLookAt = this.#settings.clock.refresh() + RETRY_MS
  }

  tick(now: number): void {
    if (this.#order.length > 0) for (const replica of this.#order) replica.tick(now, this.#settings.clock.stalledMs)
    if (now < this.#nextLookAt) return
    this.#nextLookAt = Number.POSITIVE_INFINITY
    void this.refresh()
  }

  /** Until when no tick is needed, unless a read comes. */
  restsUntil(): number {
    let until = this.#nextLookAt
    for (const replica of this.#order) until = Math.min(until, replica.restsUntil())
    return until
  }

  close(cause: Error): void {
    this.#abort.abort(cause)
    for (const replica of this.#order) replica.destroy(cause)
    this.#replicas.clear()
    this.#order = []
  }

  async #look(): Promise<void> {
    const { name, source, settings, clock } = this.#settings
    const { signal } = this.#abort
    const timeoutMs = settings.connectTimeoutMs + 2 * settings.sentinelTimeoutMs
    try {
      const turn = turnOf(this.#pace, signal)
      if (turn !== undefined) await turn
      const found = await source.replicas(name, { signal, timeoutMs })
      const wanted = new Set(found.map(addressKey))
      if (this.#settings.serving()) {
        for (const [key, replica] of this.#replicas) {
          if (!wanted.has(key)) this.drop(replica, new Error('not a usable replica any more'))
        }
      }
      await Promise.all(found.map((address) => this.#join(address)))
      if (this.#order.length < found.length) this.#nextLookAt = clock.refresh() + RETRY_MS
      if (this.#order.length === 0) this.#emptyUntil = clock.refresh() + RETRY_MS
    } catch {
      this.#emptyUntil = clock.refresh() + RETRY_MS
      this.#nextLookAt = clock.refresh() + RETRY_MS
    }
  }

  async #join(address: Address): Promise<void> {
    const key = addressKey(address)
    if (this.#replicas.has(key)) return
    const { name, settings, factory, clock } = this.#settings
    const { signal } = this.#abort
    const timeoutMs = settings.connectTimeoutMs
    const connection = await factory
      .open(address, { timeoutMs, name: `${settings.name}:${name}:replica`, signal })
      .catch(() => undefined)
    if (connection === undefined) return
    const role = await askRole(connection, timeoutMs, signal).catch(() => undefined)
    if (role?.role !== 'slave' || signal.aborted || this.#replicas.has(key)) {
      connection.destroy()
      return
    }
    const replica = new SharedConnection(connection, clock.refresh(), {
      generation: 0,
      commandTimeoutMs: settings.commandTimeoutMs,
      heartbeatMs: settings.heartbeatMs,
      tickMs: clock.tickMs,
      onLost: (lost, cause) => this.drop(lost, cause),
      onLate: (late) => this.drop(late, new Error('the replica does not answer')),
    })
    if (connection.ended) return
    this.#replicas.set(key, replica)
    this.#order = [...this.#replicas.values()]
  }

  #remove(replica: SharedConnection): void {
    const key = addressKey(replica.connection.address)
    if (this.#replicas.get(key) !== replica) return
    this.#replicas.delete(key)
    this.#order = [...this.#replicas.values()]
  }
}
