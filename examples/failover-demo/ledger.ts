/** Whether a write is known to have run: the server said so; nobody can say; it certainly did not. */
export type Fate = 'acknowledged' | 'unknown' | 'refused'

/** All that is known of one session from the answers the app got. */
export interface Entry {
  readonly id: string
  readonly shard: string
  created: Fate
  expired: Fate | undefined
  /** Touches that were acknowledged, and touches that may have run. */
  touches: number
  unknownTouches: number
  /** Highest count that the answer to a touch showed, if it came from a master that still stands. */
  provenCount: number
  /** Whether creation and end were acknowledged by a master that still stands. */
  createdSafely: boolean
  expiredSafely: boolean
}

export interface ShardAudit {
  readonly shard: string
  /** Sessions that must be there, and those found. */
  sessions: number
  sessionsFound: number
  /** Touches of the sessions found: acknowledged, unknown, and what their counters say. */
  acknowledged: number
  unknown: number
  found: number
  /** Acknowledged and not there: by the killed master (replication is asynchronous), and after the switch. */
  lostBefore: number
  lostAfter: number
  /** Counted more often than acknowledged and unknown together allow. */
  doubled: number
  /** On a shard that does not own it, or never created. */
  stray: number
}

/** session id -> its counter, as read from one server. */
export type Found = ReadonlyMap<string, number>

/**
 * The app's own book: what it was promised. A counter per session shows every write that was lost, or that ran twice.
 * Until the switch is over, a promise of the master that is killed is worth only what its replica had received.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>()
  readonly #doomed: string
  #switched = false

  constructor(doomedShard: string) {
    this.#doomed = doomedShard
  }

  open(id: string, shard: string): Entry {
    const entry: Entry = {
      id,
      shard,
      created: 'refused',
      expired: undefined,
      touches: 0,
      unknownTouches: 0,
      provenCount: 0,
      createdSafely: false,
      expiredSafely: false,
    }
    this.#entries.set(id, entry)
    return entry
  }

  /** From now on answers of the killed master's shard come from the new one. */
  switched(): void {
    this.#switched = true
  }

  created(entry: Entry, fate: Fate): void {
    entry.created = fate
    entry.createdSafely = fate === 'acknowledged' && this.#safe(entry)
  }

  touched(entry: Entry, fate: Fate, count = 0): void {
    if (fate === 'acknowledged') entry.touches++
    if (fate === 'unknown') entry.unknownTouches++
    if (fate === 'acknowledged' && this.#safe(entry)) entry.provenCount = Math.max(entry.provenCount, count)
  }

  expired(entry: Entry, fate: Fate): void {
    if (fate === 'refused') return
    entry.expired = fate
    entry.expiredSafely = fate === 'acknowledged' && this.#safe(entry)
  }

  /** Compares the book with what one shard's master holds. */
  audit(shard: string, found: Found): ShardAudit {
    const audit: ShardAudit = {
      shard,
      sessions: 0,
      sessionsFound: found.size,
      acknowledged: 0,
      unknown: 0,
      found: 0,
      lostBefore: 0,
      lostAfter: 0,
      doubled: 0,
      stray: 0,
    }
    for (const entry of this.#entries.values()) if (entry.shard === shard) check(entry, found.get(entry.id), audit)
    for (const id of found.keys()) {
      const entry = this.#entries.get(id)
      if (entry?.shard !== shard || entry.created === 'refused') audit.stray++
    }
    return audit
  }

  #safe(entry: Entry): boolean {
    return entry.shard !== this.#doomed || this.#switched
  }
}

function check(entry: Entry, count: number | undefined, audit: ShardAudit): void {
  const lose = (writes: number, safely: boolean) => {
    if (safely) audit.lostAfter += writes
    else audit.lostBefore += writes
  }
  if (entry.expired === undefined && entry.created === 'acknowledged') audit.sessions++
  if (count === undefined) {
    const mustBeThere = entry.expired === undefined && entry.created === 'acknowledged'
    if (mustBeThere) lose(1 + entry.touches, entry.createdSafely || entry.provenCount > 0)
    return
  }
  if (entry.expired === 'acknowledged') {
    lose(1, entry.expiredSafely)
    return
  }
  audit.acknowledged += entry.touches
  audit.unknown += entry.unknownTouches
  audit.found += count
  audit.doubled += Math.max(0, count - entry.touches - entry.unknownTouches)
  const missing = Math.max(0, entry.touches - count)
  const missingAfter = Math.min(missing, Math.max(0, entry.provenCount - count))
  lose(missingAfter, true)
  lose(missing - missingAfter, false)
}
