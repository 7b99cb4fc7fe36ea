import type { Address, ShardedSentinelPool } from '../library.js'
import type { Ended } from './traffic.js'

export interface Moment {
  /** Milliseconds after the kill. */
  readonly atMs: number
  readonly what: string
}

/** Sentinel's messages worth a line, in its own words, and what they say. */
const MESSAGES: Readonly<Record<string, string>> = {
  '+sdown': 'a sentinel holds the master to be down',
  '+odown': 'the quorum agrees',
  '+elected-leader': 'the sentinels have a leader',
  '+selected-slave': 'selected heard: the leader names the replica to promote',
  '+promoted-slave': 'promoted heard: the leader has seen the promotion',
  '+switch-master': 'switch heard: a sentinel announces the new master',
}

/** The story of one failover as the app's process sees it, told by the pool's events and the first write that succeeds. */
export class TimeLine {
  readonly moments: Moment[] = []
  /** From the kill to the first write that the new master acknowledged. */
  firstWriteMs: number | undefined
  readonly #shard: string
  readonly #heard = new Set<string>()
  #killedAt: number | undefined
  #verified = false

  constructor(pool: ShardedSentinelPool, shard: string) {
    this.#shard = shard
    pool.on('shard-down', (event) => {
      if (event.shard === shard) this.#tell(`connection lost (${event.reason}): calls to ${shard} wait`)
    })
    pool.on('sentinel', ({ event, masterName, message }) => {
      if (masterName !== shard || this.#heard.has(event) || MESSAGES[event] === undefined) return
      // A sentinel may miss a replica too; the story is the master's.
      if (event === '+sdown' && !message.startsWith('master ')) return
      this.#heard.add(event)
      this.#tell(`${MESSAGES[event]} (${event})`)
    })
    pool.on('failover', (event) => {
      if (event.shard !== shard) return
      this.#verified = true
      this.#tell(`address verified: ${text(event.to)} proves by ROLE to be master (${event.reason})`)
    })
  }

  killed(address: Address): void {
    this.#killedAt = performance.now()
    this.#tell(`killed: SIGKILL to ${text(address)}`)
  }

  ended({ shard, kind, error }: Ended): void {
    if (!this.#verified || this.firstWriteMs !== undefined) return
    if (shard !== this.#shard || kind === 'read' || error !== undefined) return
    this.firstWriteMs = performance.now() - this.#killedAt!
    this.#tell('first write acknowledged by the new master')
  }

  #tell(what: string): void {
    if (this.#killedAt === undefined) return
    this.moments.push({ atMs: performance.now() - this.#killedAt, what })
  }
}

function text({ host, port }: Address): string {
  return `${host}:${port}`
}
