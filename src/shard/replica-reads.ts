import type { CoarseClock } from '../async/clock.js'
import { bounded } from '../async/deadline.js'
import { ShardUnavailableError } from '../errors.js'
import { AbortError, type RedisArgument, type SendOptions } from '../redis-client.js'
import type { CommandProfile } from './call.js'
import { classifyFailure } from './failure.js'
import type { MasterLink } from './master-link.js'
import type { ReplicaSet } from './replica-set.js'

export interface ReplicaReadsSettings {
  readonly shard: string
  readonly link: Pick<MasterLink, 'waiting'>
  readonly replicas: ReplicaSet
  readonly clock: CoarseClock
  /** One replica has not answered, and the next one is asked, or the master. */
  onRepeat(): void
}

export interface ReplicaRead {
  readonly args: readonly RedisArgument[]
  readonly deadline: number
  readonly readFrom: 'preferReplica' | 'replica'
  readonly sendOptions: SendOptions | undefined
  readonly signal: AbortSignal | undefined
  /** Told before it goes out: from then on it may have run. */
  onSent(): void
}

/** A cursor belongs to the node it is from: the next page asked of another node would miss keys. */
export function readsAnywhere(profile: CommandProfile): boolean {
  return profile.readOnly && profile.ofMaster !== true && !profile.name.endsWith('SCAN')
}

/** Reads that go to replicas. A read repeated is no harm, so each replica is tried once. */
export class ReplicaReads {
  readonly #settings: ReplicaReadsSettings

  constructor(settings: ReplicaReadsSettings) {
    this.#settings = settings
  }

  /**
   * undefined: no replica answered, and the master may be asked instead.
   * @throws ShardUnavailableError where it may not
   */
  async read(read: ReplicaRead): Promise<{ readonly reply: unknown } | undefined> {
    const { shard, link, replicas, clock, onRepeat } = this.#settings
    const { args, deadline, readFrom, sendOptions, signal } = read
    await this.#inTime(deadline)
    let cause: unknown
    for (let replica = replicas.pick(); replica !== undefined; replica = replicas.pick()) {
      if (clock.refresh() >= deadline) break
      if (signal?.aborted) throw new AbortError()
      try {
        const onTimeout = () => new Error('the replica did not answer in time')
        read.onSent()
        const reply = replica.send(args, sendOptions)
        return { reply: await bounded(reply, { timeoutMs: this.#leftMs(deadline), onTimeout }) }
      } catch (error) {
        const kind = classifyFailure(error)
        if (kind === 'answered' || kind === 'caller') throw error
        replicas.drop(replica, error as Error)
        onRepeat()
        cause = error
      }
    }
    if (readFrom === 'preferReplica') return undefined
    throw new ShardUnavailableError(shard, 'no-replica', link.waiting, { cause })
  }

  /** The first look for replicas may take longer than the call has. */
  async #inTime(deadline: number): Promise<void> {
    const { replicas } = this.#settings
    const settled = replicas.settled()
    if (replicas.sockets > 0) return
    const onTimeout = () => new Error('nobody was found in time')
    await bounded(settled, { timeoutMs: this.#leftMs(deadline), onTimeout }).catch(() => {})
  }

  #leftMs(deadline: number): number {
    return Math.max(0, deadline - this.#settings.clock.refresh())
  }
}
