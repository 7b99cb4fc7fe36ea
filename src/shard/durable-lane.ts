import { bounded } from '../async/deadline.js'
import { LeaseReleasedError, NotReplicatedError, ShardUnavailableError } from '../errors.js'
import { ClientClosedError, ErrorReply, type RedisArgument, type TypeMapping } from '../redis-client.js'
import type { CommandProfile, ReplicaAck } from './call.js'
import type { Lease } from './lease.js'
import type { MasterLink } from './master-link.js'
import { waitWithin } from './replica-wait.js'

export interface DurableLaneSettings {
  readonly shard: string
  /** Most writes that may wait to go out; above it they fail at once (R12). */
  readonly maxWaiting: number
  /** Most commands in flight on one connection. */
  readonly maxInFlight: number
  /** Tells when the shard takes writes: not while a failover is announced, not without a master. */
  readonly link: Pick<MasterLink, 'usable' | 'connectionFor'>
  acquire(timeoutMs: number): Promise<Lease>
}

type Args = readonly RedisArgument[]

export interface DurableRequest {
  readonly profile: CommandProfile
  readonly ack: ReplicaAck
  readonly typeMapping: TypeMapping | undefined
  readonly deadline: number
  /** Told when it goes out: from then on it may have run. False: its caller has gone, and it must not run any more. */
  readonly onSent: () => boolean
  /** Makes the error of one that found no time to be sent. */
  readonly overdue: () => Error
}

interface DurableWrite extends DurableRequest {
  /** One command, or a batch whose error replies are entries of its reply, as in `ShardPort.sendBatch`. */
  readonly what: { readonly args: Args } | { readonly commands: readonly Args[] }
  /** Later than this no answer would come in time, as `performance.now()` has it. */
  readonly sendBy: number
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/** With less time left an answer would come too late, in ms. */
const LAST_TRY_MS = 20
/** A WAIT that nobody waits for any more holds its connection, and whoever comes next, no longer than this, in ms. */
const LONG_WAIT_MS = 100

const WRITE: CommandProfile = { name: 'durable write', readOnly: false }

/** More commands would make the first of a batch wait long for the last. */
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
  /** By what they ask for: nobody waits behind those who ask for more. Each is there while it has something to write. */
  readonly #queues = new Map<string, DurableWrite[]>()
  #waiting = 0

  constructor(settings: DurableLaneSettings) {
    this.#settings = settings
  }

  /**
   * Resolves with the command's reply once enough replicas have it.
   * @throws NotReplicatedError when too few have; the write stands on the master. What a lost connection throws otherwise.
   */
  write(args: Args, request: DurableRequest): Promise<unknown> {
    return this.#enter({ args }, request)
  }

  /** The same for a batch: MULTI … EXEC, or a pipeline. One WAIT speaks for all that it wrote. */
  writeAll(commands: readonly Args[], request: DurableRequest): Promise<readonly unknown[]> {
    return this.#enter({ commands }, request) as Promise<readonly unknown[]>
  }

  #enter(what: DurableWrite['what'], request: DurableRequest): Promise<unknown> {
    const { shard, maxWaiting } = this.#settings
    if (this.#waiting >= maxWaiting) {
      return Promise.reject(new ShardUnavailableError(shard, 'too-many-waiting', this.#waiting))
    }
    return new Promise((resolve, reject) => {
      const now = performance.now()
      const sendBy = request.deadline - Math.min(LAST_TRY_MS, (request.deadline - now) / 2)
      const write = { ...request, what, sendBy, resolve, reject }
      const kind = `${request.ack.replicas} ${request.ack.timeoutMs}`
      const queue = this.#queues.get(kind)
      this.#waiting++
      if (queue !== undefined) queue.push(write)
      else {
        this.#queues.set(kind, [write])
        void this.#run(kind)
      }
    })
  }

  async #run(kind: string): Promise<void> {
    const queue = this.#queues.get(kind)!
    // What is written in this turn goes out together.
    await Promise.resolve()
    for (let batch = this.#next(queue); batch.length > 0; batch = this.#next(queue)) {
      const lease = await this.#connection(batch)
      if (lease !== undefined) await this.#send(batch, batch[0]!.ack, lease)
    }
    this.#queues.delete(kind)
  }

  /**
   * The writes that go out together next: those that have the time to wait for what they ask for. Others go alone, so
   * that nobody's wait is cut short by somebody in a hurry. Those for whom an answer would come too late are not sent.
   */
  #next(queue: DurableWrite[]): DurableWrite[] {
    const now = performance.now()
    const alive: DurableWrite[] = []
    for (const write of queue) {
      if (write.sendBy > now) alive.push(write)
      else write.reject(write.overdue())
    }
    this.#waiting -= queue.length
    const batch = this.#cut(alive, now)
    queue.length = 0
    for (const write of alive.slice(batch)) queue.push(write)
    this.#waiting += queue.length
    return alive.slice(0, batch)
  }

  /** How many of them go out together. */
  #cut(queue: readonly DurableWrite[], now: number): number {
    const [first] = queue
    if (first === undefined) return 0
    const hasTime = (write: DurableWrite) => write.deadline - now >= write.ack.timeoutMs
    // With their WAIT they must find room in the connection's queue.
    const most = Math.min(MAX_BATCH, this.#settings.maxInFlight - 1)
    let size = 0
    const fits = (write: DurableWrite, i: number) => {
      size += sizeOf(write)
      return (i === 0 || size <= most) && hasTime(write)
    }
    if (!hasTime(first)) return 1
    const end = queue.findIndex((write, i) => !fits(write, i))
    return end === -1 ? queue.length : end
  }

  /** Waits until the shard takes writes, and for a connection. undefined: the batch has been rejected. */
  async #connection(batch: readonly DurableWrite[]): Promise<Lease | undefined> {
    const { link, acquire } = this.#settings
    const deadline = Math.max(...batch.map((write) => write.deadline))
    try {
      for (;;) {
        await link.connectionFor(WRITE, deadline)
        const lease = await acquire(Math.max(1, deadline - performance.now()))
        // A failover may have been announced while the connection was waited for.
        if (link.usable(WRITE) !== undefined) return lease
        await lease.release().catch(() => {})
      }
    } catch (error) {
      for (const write of batch) write.reject(error)
      return undefined
    }
  }

  /** Settles every write of the batch; never rejects. */
  async #send(gathered: readonly DurableWrite[], ack: ReplicaAck, lease: Lease): Promise<void> {
    const batch = gathered.filter((write) => write.onSent())
    if (batch.length === 0) return lease.release().catch(() => {})
    const now = performance.now()
    // Each caller is told at his own deadline; nobody's ends what the others still wait for.
    const left = Math.max(...batch.map((write) => write.deadline)) - now
    const least = Math.min(...batch.map((write) => write.deadline)) - now
    // Bounded below: the lease's own deadline, which is the pool's, may be shorter than theirs.
    const waitMs = waitWithin(ack.timeoutMs, least)
    let unsettled = batch.length
    const replies = batch.map(async (write) => {
      const { what, typeMapping } = write
      const options = { typeMapping, timeoutMs: 0 }
      const reply = await ('args' in what
        ? lease.send(what.args, options).catch(asFailure)
        : asBatch(lease.sendAll(what.commands, options).map((entry) => entry.catch(asFailure))))
      if (!(reply instanceof Failure) && !hasWrittenNothing(write, reply)) return reply
      // There is nothing that a replica could have: its caller, who may repeat it, does not wait for the WAIT.
      this.#settle(write, reply, ack.replicas)
      if (--unsettled === 0 && waitMs > LONG_WAIT_MS && lease.state === 'active') lease.discard()
      return reply
    })
    const work = Promise.all([...replies, lease.send(['WAIT', String(ack.replicas), String(waitMs)]).catch(asFailure)])
    try {
      const settled = await bounded(work, {
        // The node may be frozen: WAIT's own time-out is the server's to keep.
        timeoutMs: Math.max(1, left),
        onTimeout: () => new Error('the writes were not confirmed in time'),
      })
      await lease.release().catch(() => {})
      const acknowledged = settled[batch.length]
      for (const [i, write] of batch.entries()) this.#settle(write, settled[i], acknowledged)
    } catch {
      // Also one that a failover has ended meanwhile: its place in the pool is free only when it is given back.
      if (lease.state !== 'discarded') lease.discard()
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

/** The entries of a batch: error replies are such, and what lost the connection ends the whole. */
async function asBatch(sent: readonly Promise<unknown>[]): Promise<unknown> {
  const entries = await Promise.all(sent)
  const lost = entries.find((entry) => entry instanceof Failure && !(entry.error instanceof ErrorReply))
  return lost ?? entries.map((entry) => (entry instanceof Failure ? entry.error : entry))
}

function sizeOf({ what }: DurableWrite): number {
  return 'args' in what ? 1 : what.commands.length
}

/**
 * There is nothing that a replica could have: EXEC was refused, a watched key had changed, or a node that is no master has left
 * out the writes (Redis 6); of a pipeline, every write was refused.
 */
function hasWrittenNothing({ what, profile }: DurableWrite, reply: unknown): boolean {
  if (!('commands' in what)) return false
  const { commands } = what
  const entries = reply as readonly unknown[]
  if (commands[0]?.[0] !== 'MULTI') {
    return entries.every((entry, i) => entry instanceof ErrorReply || profile.writes?.[i] === false)
  }
  const executed = entries.at(-1)
  return !Array.isArray(executed) || executed.length !== commands.length - 2
}

/** A lease that ended before the write left is as good as a connection that was closed: the write may be sent again. */
function asFailure(error: unknown): Failure {
  const notSent = error instanceof LeaseReleasedError && error.outcome === 'not-sent'
  return new Failure(notSent ? new ClientClosedError() : error)
}
