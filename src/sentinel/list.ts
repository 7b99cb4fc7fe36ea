import { type Address, addressKey, formatAddress } from '../address.js'
import { monotonicNow } from '../async/deadline.js'

/** One sentinel as it can be reached. The object is the identity; its fields follow what is learned. */
export interface SentinelEntry {
  /** Where to connect: as configured for a seed (a host name stays a name and is looked up at each connect), mapped for a peer. */
  readonly address: Address
  /** Seeds come from the options and are never dropped. */
  readonly seed: boolean
  /** What the sentinel itself said with SENTINEL MYID, or a peer said of it; undefined where the ACL hides it. */
  readonly runId: string | undefined
}

interface Record extends SentinelEntry {
  runId: string | undefined
  /** The entry that stands for the same sentinel; this one is not asked while that one is well. */
  aliasOf: Record | undefined
  /** Failed attempts since the last good one. */
  failures: number
  lastGoodAt: number
  /** It has answered at least once. */
  proven: boolean
}

export interface SentinelListSettings {
  /** A discovered sentinel that nobody could reach for so long leaves, in ms. @default 600_000 */
  readonly forgetAfterMs?: number
  readonly now?: () => number
}

/** More peers than any sane deployment has; a lying sentinel cannot make us connect to thousands. */
const maxDiscovered = 32

/**
 * Which sentinels there are: the seeds, always, and the peers they told us of. One entry per distinct sentinel: a seed by
 * name and a peer by IP that say the same run id are one, and the seed is the one that stays. Knows no socket.
 */
export class SentinelList {
  readonly #records: Record[] = []
  readonly #listeners = new Set<() => void>()
  readonly #forgetAfterMs: number
  readonly #now: () => number
  #preferred: Record | undefined

  constructor(seeds: readonly Address[], settings: SentinelListSettings = {}) {
    this.#forgetAfterMs = settings.forgetAfterMs ?? 600_000
    this.#now = settings.now ?? monotonicNow
    const keys = new Set<string>()
    for (const address of seeds) {
      const key = addressKey(address)
      if (keys.has(key)) continue
      keys.add(key)
      this.#records.push(this.#record(address, true, undefined))
    }
  }

  /** How many distinct sentinels are known. */
  get size(): number {
    return this.entries().length
  }

  /** One entry per distinct sentinel: the one at `first` before all, then the last good one, then as they came. */
  entries(first?: Address): readonly SentinelEntry[] {
    const distinct = this.#records.filter((r) => r.aliasOf === undefined)
    const rank = (r: Record) =>
      first !== undefined && addressKey(r.address) === addressKey(first) ? 0 : r === this.#preferred ? 1 : 2
    return distinct.sort((a, b) => rank(a) - rank(b))
  }

  has(entry: SentinelEntry): boolean {
    const record = this.#find(entry)
    return record !== undefined && record.aliasOf === undefined
  }

  /** Calls back whenever `entries()` has changed its members. Returns the function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Its answer was used last: ask it first next time. */
  prefer(entry: SentinelEntry): void {
    this.#preferred = this.#find(entry)
  }

  succeeded(entry: SentinelEntry): void {
    const record = this.#find(entry)
    if (record === undefined) return
    record.failures = 0
    record.proven = true
    record.lastGoodAt = this.#now()
  }

  failed(entry: SentinelEntry): void {
    const record = this.#find(entry)
    if (record === undefined) return
    record.failures++
    let changed = false
    // Another spelling of the same sentinel gets its chance when this one fails.
    for (const other of this.#records) {
      if (other.aliasOf !== record) continue
      other.aliasOf = undefined
      changed = true
    }
    if (!record.seed && this.#now() - record.lastGoodAt > this.#forgetAfterMs) {
      this.#remove(record)
      changed = true
    }
    if (changed) this.#changed()
  }

  /**
   * The sentinel behind `entry` said its run id. Returns the entry that stands for it already, when there is another one;
   * `entry` is then no longer among `entries()`.
   */
  identify(entry: SentinelEntry, runId: string): SentinelEntry | undefined {
    const record = this.#find(entry)
    if (record === undefined) return undefined
    record.runId = runId
    record.aliasOf = undefined
    const twin = this.#records.find((r) => r !== record && r.runId === runId && r.aliasOf === undefined)
    if (twin === undefined) return undefined
    if (twin.failures > 0) {
      // Its name or address led there once and leads nowhere now: it will say anew who it is.
      twin.runId = undefined
      if (!twin.seed) this.#remove(twin)
      this.#changed()
      return undefined
    }
    // The one that has answered stays; of two that have, the seed.
    if (!twin.proven || (record.seed && !twin.seed)) {
      if (twin.seed) twin.aliasOf = record
      else this.#remove(twin)
      this.#changed()
      return undefined
    }
    if (record.seed) record.aliasOf = twin
    else this.#remove(record)
    this.#changed()
    return twin
  }

  /** Peers that a sentinel told of, mapped. Ones that are known by run id or address already change nothing. */
  learn(peers: readonly { readonly address: Address; readonly runId: string | undefined }[]): void {
    let changed = false
    for (const { address, runId } of peers) {
      const key = addressKey(address)
      const same = this.#records.find((r) => addressKey(r.address) === key)
      if (same !== undefined) {
        same.runId ??= runId
        continue
      }
      const twin = runId === undefined ? undefined : this.#records.find((r) => r.runId === runId)
      if (twin !== undefined && (twin.seed || twin.failures === 0)) continue
      // A sentinel that came back at another address keeps its run id.
      if (twin !== undefined) this.#remove(twin)
      if (this.#records.filter((r) => !r.seed).length >= maxDiscovered) continue
      this.#records.push(this.#record(address, false, runId))
      changed = true
    }
    if (changed) this.#changed()
  }

  #record(address: Address, seed: boolean, runId: string | undefined): Record {
    return { address, seed, runId, aliasOf: undefined, failures: 0, lastGoodAt: this.#now(), proven: false }
  }

  #find(entry: SentinelEntry): Record | undefined {
    return this.#records.find((r) => r === entry)
  }

  #remove(record: Record): void {
    const index = this.#records.indexOf(record)
    if (index >= 0) this.#records.splice(index, 1)
    for (const other of this.#records) if (other.aliasOf === record) other.aliasOf = undefined
    if (this.#preferred === record) this.#preferred = undefined
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

/** How a sentinel is called in errors and events. */
export function nameOf(entry: SentinelEntry): string {
  return formatAddress(entry.address)
}
