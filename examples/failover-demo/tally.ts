import { ShardedSentinelPoolError } from '../library.js'
import type { Ended } from './traffic.js'

/** What the app saw of one shard. */
export class ShardTally {
  readonly shard: string
  reads = 0
  writes = 0
  inFlight = 0
  longestMs = 0
  /** Operations that ended, for the rate in the live line. */
  recent = 0
  readonly errors = new Map<string, number>()

  constructor(shard: string) {
    this.shard = shard
  }

  get operations(): number {
    return this.reads + this.writes
  }

  get failed(): number {
    return [...this.errors.values()].reduce((sum, n) => sum + n, 0)
  }

  started(): void {
    this.inFlight++
  }

  ended({ kind, tookMs, error }: Ended): void {
    this.inFlight--
    this.recent++
    if (kind === 'read') this.reads++
    else this.writes++
    this.longestMs = Math.max(this.longestMs, tookMs)
    if (error === undefined) return
    const code = codeOf(error)
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
  }
}

/** Errors of the pool have a `code`, and some an `outcome`; replies of the server are told by their first word. */
function codeOf(error: unknown): string {
  if (error instanceof ShardedSentinelPoolError) {
    return 'outcome' in error ? `${error.code} (${String(error.outcome)})` : error.code
  }
  return error instanceof Error ? error.message.split(' ')[0]! : String(error)
}
