import { bounded } from '../async/deadline.js'
import { LeaseReleasedError, NotReplicatedError } from '../errors.js'
import { ClientClosedError, type RedisArgument, type TypeMapping } from '../redis-client.js'
import type { CommandProfile, ReplicaAck } from './call.js'
import type { Lease } from './lease.js'

export interface DurableLaneSettings {
  readonly shard: string
  acquire(): Promise<Lease>
}

interface DurableWrite {
  readonly args: readonly RedisArgument[]
  readonly profile: CommandProfile
  readonly ack: ReplicaAck
  readonly typeMapping: TypeMapping | undefined
  readonly deadline: number
  /** Told when it goes out: from then on it may have run. False: its caller has gone, and it must not run any more. */
  readonly onSent: () => boolean
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/** More would make the first of a batch wait long for the last. */
const MAX_BATCH = 1_000

/**
 * Writes that resolve only when replicas have them. WAIT speaks of the writes of its own connection and blocks it, so they
 * have one of their own, taken as a lease while there is something to write. All that has gathered meanwhile goes out
 * together with one WAIT behind it: the more writes there are, the less each of them waits.
 *
 * Source: the documentation of WAIT. It makes a loss unlikely, not impossible: a failover may still choose another replica.
 */
export class DurableLane {
  readonly #settings: DurableLaneSettings
  #queue: DurableWrite[] = []
  #running = false

  constructor(settings: DurableLaneSettings) {
    this.#settings = settings
  }

  /**
   * Resolves with the command's reply once enough replicas have it.
   * @throws NotReplicatedError when too few have; the write stands on the master. What a lost connection throws otherwise.
   */
  write(
    args: readonly RedisArgument[],
    profile: CommandProfile,
    ack: ReplicaAck,
    typeMapping: TypeMapping | undefined,
    deadline: number,
    onSent: () => boolean,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ args, profile, ack, typeMapping, deadline, onSent, resolve, reject })
      if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    // What is written in this turn goes out together.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const first = this.#queue[0]!
      const fits = (write: DurableWrite) =>
        write.ack.replicas === first.ack.replicas && write.ack.timeoutMs === first.ack.timeoutMs
      const end = this.#queue.findIndex((write, i) => i === MAX_BATCH || !fits(write))
      const batch = this.#queue.splice(0, end === -1 ? this.#queue.length : end)
      await this.#send(batch, first.ack)
    }
    this.#running = false
  }

  /** Settles every write of the batch; never rejects. */
  async #send(gathered: readonly DurableWrite[], ack: ReplicaAck): Promise<void> {
    let lease: Lease
    try {
      lease = await this.#settings.acquire()
    } catch (error) {
      for (const write of gathered) write.reject(error)
      return
    }
    const batch = gathered.filter((write) => write.onSent())
    if (batch.length === 0) return lease.release().catch(() => {})
    const deadline = Math.min(...batch.map((write) => write.deadline))
    const left = deadline - performance.now()
    const replies = batch.map((write) => lease.send(write.args, { typeMapping: write.typeMapping }).catch(asFailure))
    const waitMs = Math.max(1, Math.floor(Math.min(ack.timeoutMs, left)))
    const work = Promise.all([...replies, lease.send(['WAIT', String(ack.replicas), String(waitMs)]).catch(asFailure)])
    try {
      const settled = await bounded(work, {
        // The node may be frozen: WAIT's own time-out is the server's to keep.
        timeoutMs: Math.min(2 ** 31 - 1, Math.max(1, left)),
        onTimeout: () => new Error('the writes were not confirmed in time'),
      })
      await lease.release().catch(() => {})
      const acknowledged = settled[batch.length]
      for (const [i, write] of batch.entries()) this.#settle(write, settled[i], acknowledged)
    } catch {
      if (lease.state === 'active') lease.discard()
      const settled = await work
      for (const [i, write] of batch.entries()) this.#settle(write, settled[i], settled[batch.length])
    }
  }

  #settle(write: DurableWrite, reply: unknown, acknowledged: unknown): void {
    if (reply instanceof Failure) write.reject(reply.error)
    else if (typeof acknowledged === 'number' && acknowledged >= write.ack.replicas) write.resolve(reply)
    else {
      const { replicas, timeoutMs } = write.ack
      const cause = acknowledged instanceof Failure ? acknowledged.error : undefined
      const count = typeof acknowledged === 'number' ? acknowledged : 0
      const { shard } = this.#settings
      write.reject(new NotReplicatedError(shard, write.profile.name, { replicas, timeoutMs }, count, reply, { cause }))
    }
  }
}

/** An error as a value, told apart from a reply that may be anything. */
class Failure {
  readonly error: unknown
  constructor(error: unknown) {
    this.error = error
  }
}

/** A lease that ended before the write left is as good as a connection that was closed: the write may be sent again. */
function asFailure(error: unknown): Failure {
  const notSent = error instanceof LeaseReleasedError && error.outcome === 'not-sent'
  return new Failure(notSent ? new ClientClosedError() : error)
}
