import { formatAddress, type SentinelEvent } from '../../index.js'
import type { CommandPool } from '../pool.js'

export interface Moment {
  /** Since the drill began, in ms. */
  readonly atMs: number
  readonly what: string
}

/** Sentinel's steps that tell the story; each sentinel tells them, the first counts. */
const STORY =
  /^[+-](sdown|odown|new-epoch|try-failover|elected-leader|selected-slave|failover-|promoted-slave|switch-master|convert-to-slave|tilt)/

/** What the pool hears and does about one shard while a drill goes on. */
export class TimeLine {
  readonly moments: Moment[] = []
  /** Resolves when the shard has a new verified master, or the same one anew. */
  readonly settled: Promise<void>
  readonly #since: number
  readonly #told = new Set<string>()
  readonly #onMoment: (moment: Moment) => void

  constructor(pool: CommandPool, shard: string, since: number, onMoment: (moment: Moment) => void) {
    this.#since = since
    this.#onMoment = onMoment
    pool.on('sentinel', (event) => this.#hear(shard, event))
    pool.on('shard-down', (event) => {
      if (event.shard === shard) this.add(`pool: no usable connection (${event.reason})`)
    })
    this.settled = new Promise((resolve) => {
      pool.on('failover', (event) => {
        if (event.shard !== shard) return
        this.add(`pool: moved to ${formatAddress(event.to)} (${event.reason}, ${Math.round(event.durationMs)} ms)`)
        resolve()
      })
      pool.on('reconnect', (event) => {
        if (event.shard !== shard) return
        this.add(
          `pool: connected anew to ${formatAddress(event.address)} (${event.reason}, ${Math.round(event.durationMs)} ms)`,
        )
        resolve()
      })
    })
  }

  add(what: string): void {
    const moment = { atMs: Math.round(performance.now() - this.#since), what }
    this.moments.push(moment)
    this.#onMoment(moment)
  }

  #hear(shard: string, { masterName, event, message, sentinel }: SentinelEvent): void {
    if (masterName !== shard || !STORY.test(event)) return
    const words = `${event} ${message}`
    if (this.#told.has(words)) return
    this.#told.add(words)
    this.add(`sentinel ${formatAddress(sentinel)}: ${words}`)
  }
}
