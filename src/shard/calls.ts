/* A little longer than most: sending, waiting and repeating share one deadline and one judgement, and belong together. */
import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import { bounded } from '../async/deadline.js'
import { sleep } from '../async/sleep.js'
import {
  CommandTimeoutError,
  ConnectionLostError,
  PoolClosedError,
  ShardedSentinelPoolError,
  ShardUnavailableError,
} from '../errors.js'
import type { Settings } from '../options.js'
import { AbortError, assertEncodable, ErrorReply, type RedisArgument, type SendOptions } from '../redis-client.js'
import type { CallOptions, CommandProfile } from './call.js'
import type { DurableLane } from './durable-lane.js'
import { classifyFailure, reasonOf } from './failure.js'
import type { MasterLink } from './master-link.js'
import type { ReplicaSet } from './replica-set.js'
import type { SharedConnection } from './shared-connection.js'

/** Between two sends of one call. The cap keeps a call that waits out a LOADING or a NOREPLICAS cheap for the server. */
const REPEAT_BACKOFF = { minMs: 5, maxMs: 250 } as const
/** A try needs at least so long to be answered in, in ms. */
const LAST_TRY_MS = 20

type Args = readonly RedisArgument[]

/** Where one sending of a call is. */
interface Ticket {
  /** Undefined: nothing of it was sent. */
  sentOn: SharedConnection | 'own connection' | undefined
  /** The caller has been told how it ended, and must not be proved wrong. */
  over: boolean
}

export interface CallsSettings {
  readonly shard: string
  readonly settings: Settings
  readonly link: MasterLink
  readonly replicas: ReplicaSet
  readonly durable: DurableLane
  readonly clock: CoarseClock
  readonly sendOptions: SendOptions | undefined
  /** Commands of the shard that have not ended: at least as many as are on its connection. */
  inFlight(): number
}

/** What happens to a call that does not simply go out and come back: it waits, is repeated, or ends in a typed error (R10–R12). */
export class Calls {
  repeats = 0
  errors = 0
  readonly #shard: string
  readonly #settings: Settings
  readonly #link: MasterLink
  readonly #replicas: ReplicaSet
  readonly #durable: DurableLane
  readonly #clock: CoarseClock
  readonly #sendOptions: SendOptions | undefined
  readonly #inFlight: () => number

  constructor(options: CallsSettings) {
    this.#shard = options.shard
    this.#settings = options.settings
    this.#link = options.link
    this.#replicas = options.replicas
    this.#durable = options.durable
    this.#clock = options.clock
    this.#sendOptions = options.sendOptions
    this.#inFlight = options.inFlight
  }

  /** Sends now, or waits for a master and sends then. */
  send(args: Args, profile: CommandProfile, options: CallOptions | undefined): Promise<unknown> {
    // The real clock: after a stall of this process the coarse one would give the call a deadline that is over.
    return this.#send(args, profile, options, this.#deadline(this.#clock.refresh(), options))
  }

  /** Repeats a call that failed with `failure` until it is answered, its deadline comes, or it may not be repeated. */
  async recover(
    failure: unknown,
    args: Args,
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number,
  ): Promise<unknown> {
    const began = this.#clock.beganAt(since)
    return this.#repeat(failure, profile, options, began, (deadline) => this.#send(args, profile, options, deadline))
  }

  /** Several commands back to back on one connection. See `ShardPort.sendBatch`. */
  async sendBatch(
    commands: readonly Args[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number = this.#clock.refresh(),
  ): Promise<readonly unknown[]> {
    // node-redis would leave out the one command it cannot encode, or has no room for, and send the rest of the transaction.
    for (const args of commands) assertEncodable(args)
    if (this.#inFlight() + commands.length > this.#settings.maxInFlight) throw this.#fullError()
    const send = (deadline: number) => this.#sendBatchOnce(commands, profile, options, deadline)
    const began = this.#clock.beganAt(since)
    try {
      return await send(this.#deadline(began, options))
    } catch (error) {
      return this.#repeat(error, profile, options, began, send)
    }
  }

  async #repeat<T>(
    failure: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number,
    send: (deadline: number) => Promise<T>,
  ): Promise<T> {
    const deadline = this.#deadline(since, options)
    let backoff: Backoff | undefined
    let error = failure
    let sentAt = since
    let mayHaveRun = false
    try {
      for (;;) {
        const pause = this.#judge(error, profile, options, deadline, sentAt)
        mayHaveRun ||= classifyFailure(error) === 'lost' && !profile.readOnly
        if (pause) {
          backoff ??= new Backoff(REPEAT_BACKOFF)
          const pauseMs = backoff.next()
          const leftMs = Math.max(0, deadline - this.#clock.refresh())
          // Not sent once more with no time left for an answer: the refusal is known, a try without an answer is not.
          await sleep(pauseMs + LAST_TRY_MS < leftMs ? pauseMs : Math.ceil(leftMs))
          if (this.#clock.refresh() >= deadline) this.#judge(error, profile, options, deadline, sentAt)
        }
        this.repeats++
        sentAt = this.#clock.refresh()
        try {
          return await send(deadline)
        } catch (next) {
          error = next
        }
      }
    } catch (end) {
      throw mayHaveRun ? this.#inDoubt(end, profile, options, deadline) : end
    }
  }

  /** With `retry: 'always'` a write may have run at the first try although the last one was not sent. */
  #inDoubt(end: unknown, profile: CommandProfile, options: CallOptions | undefined, deadline: number): unknown {
    if (end instanceof ShardedSentinelPoolError) {
      if ((end as { outcome?: string }).outcome !== 'not-sent') return end
    } else if (classifyFailure(end) === 'answered' || classifyFailure(end) === 'caller') return end
    return this.#lostError(end, profile, options, deadline, this.#clock.refresh())
  }

  /** Decides whether a failed call is sent again (true: after a pause). @throws what the caller gets otherwise */
  #judge(
    error: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    sentAt: number,
  ): boolean {
    if (error instanceof ShardedSentinelPoolError) throw this.#counted(error)
    const kind = classifyFailure(error)
    if (kind === 'answered' || kind === 'caller') throw error
    const retry = options?.retry ?? this.#settings.retry
    const now = this.#clock.refresh()
    if (kind === 'full') throw this.#fullError(error)
    if (kind === 'lost') {
      const repeatable = retry === 'always' || (retry === 'safe' && profile.readOnly)
      if (!repeatable || now >= deadline) throw this.#counted(this.#lostError(error, profile, options, deadline, now))
      return false
    }
    if (kind === 'moved' || kind === 'stale-login') this.#refused(error as ErrorReply, sentAt)
    if (retry === 'never' || now >= deadline) throw this.#refusedError(error, profile, options, now >= deadline)
    return kind !== 'not-sent'
  }

  /** A reply that says the node cannot serve: unless it is from the connection before, the master is looked for. */
  #refused(reply: ErrorReply, sentAt: number): void {
    if (this.#link.verifiedAt > sentAt) return
    if (classifyFailure(reply) === 'stale-login') this.#link.loginLost(reply)
    else this.#link.lost(reasonOf(reply), reply)
  }

  #lostError(
    cause: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    now: number,
  ): ShardedSentinelPoolError {
    if (this.#link.state === 'closed') return new PoolClosedError(undefined, { outcome: 'unknown', cause })
    const timeoutMs = this.#timeoutMs(options)
    // A fence gives up a little before the deadline of the oldest call it stands for.
    const overdue = timeoutMs > 0 && deadline - now <= Math.min(250, timeoutMs / 4) + 2 * this.#clock.tickMs
    return overdue
      ? new CommandTimeoutError(this.#shard, profile.name, timeoutMs, 'unknown', { cause })
      : new ConnectionLostError(this.#shard, profile.name, 'unknown', { cause })
  }

  /** It never ran, and time is up or it must not be sent again. What passes by itself is told as the server told it. */
  #refusedError(error: unknown, profile: CommandProfile, options: CallOptions | undefined, late: boolean): unknown {
    if (error instanceof ErrorReply) {
      const kind = classifyFailure(error)
      if (kind === 'not-yet' || kind === 'stale-login') return error
      return this.#counted(new ShardUnavailableError(this.#shard, 'no-master', this.#link.waiting, { cause: error }))
    }
    if (this.#link.state === 'closed') return this.#counted(new PoolClosedError(undefined, { cause: error }))
    if (!late) return this.#counted(new ConnectionLostError(this.#shard, profile.name, 'not-sent', { cause: error }))
    const timeoutMs = this.#timeoutMs(options)
    return this.#counted(new CommandTimeoutError(this.#shard, profile.name, timeoutMs, 'not-sent', { cause: error }))
  }

  #fullError(cause?: unknown): ShardUnavailableError {
    return this.#counted(new ShardUnavailableError(this.#shard, 'too-many-in-flight', this.#inFlight(), { cause }))
  }

  #counted<E extends ShardedSentinelPoolError>(error: E): E {
    this.errors++
    return error
  }

  #timeoutMs(options: CallOptions | undefined): number {
    return options?.timeoutMs ?? this.#settings.commandTimeoutMs
  }

  #deadline(since: number, options: CallOptions | undefined): number {
    const timeoutMs = this.#timeoutMs(options)
    return timeoutMs > 0 ? since + timeoutMs : Number.POSITIVE_INFINITY
  }

  #optionsFor(options: CallOptions | undefined): SendOptions | undefined {
    return options?.typeMapping === undefined ? this.#sendOptions : { typeMapping: options.typeMapping }
  }

  async #send(
    args: Args,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
  ): Promise<unknown> {
    const ticket: Ticket = { sentOn: undefined, over: false }
    const send = async () => {
      const readFrom = options?.readFrom ?? this.#settings.readFrom
      if (readFrom !== 'master' && readsAnywhere(profile)) {
        const read = await this.#sendToReplica(args, options, deadline, readFrom)
        if (read !== undefined) return read.reply
      }
      const ack = options?.replicaAck
      if (ack !== undefined && !profile.readOnly) {
        const typeMapping = options?.typeMapping ?? this.#sendOptions?.typeMapping
        const onSent = () => {
          if (ticket.over) return false
          ticket.sentOn = 'own connection'
          return true
        }
        return this.#durable.write(args, profile, ack, typeMapping, deadline, onSent)
      }
      const signal = options?.abortSignal
      const shared = this.#link.usable(profile) ?? (await this.#link.connectionFor(profile, deadline, signal))
      const reply = this.#board(ticket, shared, signal).send(args, this.#optionsFor(options))
      return this.#inTime(reply, shared, profile, options, deadline)
    }
    const durable = options?.replicaAck !== undefined && !profile.readOnly
    return this.#guarded(send(), profile, options, deadline, ticket, durable)
  }

  /**
   * The fence gives every call its whole time from the moment it is sent. One that has waited, or is sent again, has less
   * left, and pays for a timer.
   */
  #inTime<T>(
    reply: Promise<T>,
    sentOn: SharedConnection,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
  ): Promise<T> {
    if (deadline === Number.POSITIVE_INFINITY || options?.timeoutMs !== undefined) return reply
    const timeoutMs = deadline - this.#clock.refresh()
    if (timeoutMs >= this.#settings.commandTimeoutMs - 2 * this.#clock.tickMs) return reply
    const onTimeout = () => {
      this.#link.suspect(sentOn)
      return new CommandTimeoutError(this.#shard, profile.name, this.#timeoutMs(options), 'unknown')
    }
    return bounded(reply, { timeoutMs: Math.max(0, timeoutMs), onTimeout })
  }

  /** The last look before it goes out: a caller who was told that nothing was sent must be right (R10). */
  #board(ticket: Ticket, shared: SharedConnection, signal: AbortSignal | undefined): SharedConnection {
    if (ticket.over || signal?.aborted) throw new AbortError()
    ticket.sentOn = shared
    return shared
  }

  /** undefined: no replica answered, and the master may be asked instead. A read repeated is no harm, so each is tried once. */
  async #sendToReplica(
    args: Args,
    options: CallOptions | undefined,
    deadline: number,
    readFrom: 'preferReplica' | 'replica',
  ): Promise<{ readonly reply: unknown } | undefined> {
    await this.#replicasInTime(deadline)
    let cause: unknown
    for (let replica = this.#replicas.pick(); replica !== undefined; replica = this.#replicas.pick()) {
      if (this.#clock.refresh() >= deadline) break
      if (options?.abortSignal?.aborted) throw new AbortError()
      try {
        const leftMs = Math.min(Math.max(0, deadline - this.#clock.refresh()), 2 ** 31 - 1)
        const onTimeout = () => new Error('the replica did not answer in time')
        const reply = replica.send(args, this.#optionsFor(options))
        return { reply: await bounded(reply, { timeoutMs: leftMs, onTimeout }) }
      } catch (error) {
        const kind = classifyFailure(error)
        if (kind === 'answered' || kind === 'caller') throw error
        this.#replicas.drop(replica, error as Error)
        this.repeats++
        cause = error
      }
    }
    if (readFrom === 'preferReplica') return undefined
    throw new ShardUnavailableError(this.#shard, 'no-replica', this.#link.waiting, { cause })
  }

  /** The first look for replicas may take longer than the call has. */
  async #replicasInTime(deadline: number): Promise<void> {
    const settled = this.#replicas.settled()
    if (this.#replicas.addresses.length > 0) return
    const timeoutMs = Math.min(Math.max(0, deadline - this.#clock.refresh()), 2 ** 31 - 1)
    await bounded(settled, { timeoutMs, onTimeout: () => new Error('nobody was found in time') }).catch(() => {})
  }

  async #sendBatchOnce(
    commands: readonly Args[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
  ): Promise<readonly unknown[]> {
    const ticket: Ticket = { sentOn: undefined, over: false }
    const send = async () => {
      const signal = options?.abortSignal
      const shared = this.#board(ticket, await this.#link.connectionFor(profile, deadline, signal), signal)
      const sentAt = this.#clock.refresh()
      const sendOptions = this.#optionsFor(options)
      // One synchronous run: nothing of anybody else's comes between, and node-redis flushes it in one write.
      const parts = commands.map((args) =>
        shared.send(args, sendOptions).catch((error) => this.#asEntry(error, sentAt, shared)),
      )
      return this.#inTime(Promise.all(parts), shared, profile, options, deadline)
    }
    return this.#guarded(send(), profile, options, deadline, ticket, false)
  }

  /** Error replies are entries of a batch; only a loss ends the whole of it. */
  #asEntry(error: unknown, sentAt: number, shared: SharedConnection): unknown {
    const kind = classifyFailure(error)
    // A MULTI without its EXEC would take everybody's commands for its own.
    if (kind === 'full' || kind === 'caller') shared.destroy(error as Error)
    if (!(error instanceof ErrorReply)) throw error
    if (kind === 'moved') this.#refused(error, sentAt)
    return error
  }

  /**
   * Only a call with a time-out or a signal of its own pays for a timer, and a durable write, which waits for a connection
   * and for replicas; all others are fenced (`SharedConnection`).
   */
  async #guarded<T>(
    call: Promise<T>,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    ticket: Ticket,
    always: boolean,
  ): Promise<T> {
    if (options?.timeoutMs === undefined && options?.abortSignal === undefined && !always) return call
    const timeoutMs = Math.max(0, Math.min(deadline - this.#clock.refresh(), 2 ** 31 - 1))
    const onTimeout = () => {
      const { sentOn } = ticket
      if (typeof sentOn === 'object') this.#link.suspect(sentOn)
      const outcome = sentOn === undefined ? 'not-sent' : 'unknown'
      return new CommandTimeoutError(this.#shard, profile.name, this.#timeoutMs(options), outcome)
    }
    try {
      return await bounded(call, { timeoutMs, onTimeout, signal: options?.abortSignal })
    } catch (error) {
      if (options?.abortSignal?.aborted && error === options.abortSignal.reason) throw new AbortError()
      throw error
    } finally {
      ticket.over = true
    }
  }
}

/** A cursor belongs to the node it is from: the next page asked of another node would miss keys. */
function readsAnywhere(profile: CommandProfile): boolean {
  return profile.readOnly && !profile.name.endsWith('SCAN')
}
