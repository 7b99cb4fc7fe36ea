import type { CoarseClock } from '../async/clock.js'
import { bounded } from '../async/deadline.js'
import type { Settings } from '../options.js'
import { AbortError, assertEncodable, ErrorReply, type RedisArgument, type SendOptions } from '../redis-client.js'
import type { CallOptions, CommandProfile } from './call.js'
import { CallEnds } from './call-ends.js'
import type { DurableLane, DurableRequest } from './durable-lane.js'
import { classifyFailure } from './failure.js'
import type { MasterLink } from './master-link.js'
import { Repeats, type Send } from './repeats.js'
import { ReplicaReads, readsAnywhere } from './replica-reads.js'
import type { ReplicaSet } from './replica-set.js'
import type { SharedConnection } from './shared-connection.js'

type Args = readonly RedisArgument[]

/** Where one sending of a call is. */
interface Ticket {
  /** Undefined: nothing of it was sent. */
  sentOn: SharedConnection | 'elsewhere' | undefined
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
  /** Aborts when the shard has closed: nobody pauses any more. */
  readonly closed: AbortSignal
  /** Commands of the shard that have not ended: at least as many as are on its connection. */
  inFlight(): number
}

/** What happens to a call that does not simply go out and come back: it waits, is repeated, or ends in a typed error (R10–R12). */
export class Calls {
  readonly #settings: Settings
  readonly #link: MasterLink
  readonly #reads: ReplicaReads
  readonly #durable: DurableLane
  readonly #clock: CoarseClock
  readonly #sendOptions: SendOptions | undefined
  readonly #inFlight: () => number
  readonly #ends: CallEnds
  readonly #repeats: Repeats

  constructor(options: CallsSettings) {
    this.#settings = options.settings
    this.#link = options.link
    this.#reads = new ReplicaReads({ ...options, onRepeat: () => this.#repeats.count++ })
    this.#durable = options.durable
    this.#clock = options.clock
    this.#sendOptions = options.sendOptions
    this.#inFlight = options.inFlight
    this.#ends = new CallEnds(options)
    this.#repeats = new Repeats({ ...options, ends: this.#ends })
  }

  /** Calls, or parts of them, that were sent again, for stats. */
  get repeats(): number {
    return this.#repeats.count
  }

  /** Errors of ours that callers got, for stats. */
  get errors(): number {
    return this.#ends.count
  }

  /** Sends now, or waits for a master and sends then. */
  send(args: Args, profile: CommandProfile, options: CallOptions | undefined): Promise<unknown> {
    // The real clock: after a stall of this process the coarse one would give the call a deadline that is over.
    return this.#send(args, profile, options, this.#ends.deadline(this.#clock.refresh(), options))
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
    const send: Send<unknown> = (deadline, place) => this.#send(args, profile, options, deadline, place)
    return this.#repeats.run(failure, profile, options, began, send)
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
    // A durable one has its WAIT behind it.
    const size = commands.length + (options?.replicaAck === undefined || profile.readOnly ? 0 : 1)
    if (this.#inFlight() + size > this.#settings.maxInFlight) throw this.#ends.full()
    const send = (deadline: number) => this.#sendBatchOnce(commands, profile, options, deadline)
    const began = this.#clock.beganAt(since)
    try {
      return await send(this.#ends.deadline(began, options))
    } catch (error) {
      return this.#repeats.run(error, profile, options, began, send)
    }
  }

  #optionsFor(options: CallOptions | undefined): SendOptions | undefined {
    return options?.typeMapping === undefined ? this.#sendOptions : { typeMapping: options.typeMapping }
  }

  async #send(
    args: Args,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    place?: number,
  ): Promise<unknown> {
    const ticket: Ticket = { sentOn: undefined, over: false }
    const send = async () => {
      const readFrom = options?.readFrom ?? this.#settings.readFrom
      if (readFrom !== 'master' && readsAnywhere(profile)) {
        const sendOptions = this.#optionsFor(options)
        const onSent = () => {
          ticket.sentOn = 'elsewhere'
        }
        const signal = options?.abortSignal
        const read = await this.#reads.read({ args, deadline, readFrom, sendOptions, signal, onSent })
        if (read !== undefined) return read.reply
      }
      const durable = this.#durably(profile, options, deadline, ticket)
      if (durable !== undefined) return this.#durable.write(args, durable)
      const signal = options?.abortSignal
      const shared = this.#usable(profile, options) ?? (await this.#connectionFor(profile, options, deadline, place))
      const reply = this.#board(ticket, shared, signal).send(args, this.#optionsFor(options), !profile.readOnly)
      if (this.#repeats.keepsOrder(profile, options)) this.#takePlace(reply)
      return this.#inTime(reply, shared, profile, options, deadline)
    }
    return this.#guarded(send(), profile, options, deadline, ticket)
  }

  /** Undefined where no replica is to have it before it resolves. */
  #durably(
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    ticket: Ticket,
  ): DurableRequest | undefined {
    const ack = options?.replicaAck
    if (ack === undefined || profile.readOnly) return undefined
    const typeMapping = options?.typeMapping ?? this.#sendOptions?.typeMapping
    const onSent = () => {
      if (ticket.over) return false
      ticket.sentOn = 'elsewhere'
      return true
    }
    const overdue = () => this.#ends.timedOut(profile, options, 'not-sent')
    return { profile, ack, typeMapping, deadline, onSent, overdue }
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
      return this.#ends.timedOut(profile, options, 'unknown')
    }
    return bounded(reply, { timeoutMs: Math.max(0, timeoutMs), onTimeout })
  }

  #usable(profile: CommandProfile, options: CallOptions | undefined): SharedConnection | undefined {
    return this.#link.slow.takes(options) ? undefined : this.#link.usable(profile)
  }

  #connectionFor(
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    place?: number,
  ): Promise<SharedConnection> {
    const signal = options?.abortSignal
    // A time-out of its own has a timer of its own, which tells of it; the room's clock must not come first.
    const sweptAt = options?.timeoutMs === undefined ? deadline : deadline + 2 * this.#clock.tickMs
    if (this.#link.slow.takes(options)) return this.#link.slow.connectionFor(profile, deadline, signal, { sweptAt })
    return this.#link.connectionFor(profile, deadline, signal, { place, sweptAt })
  }

  /** The steps to the caller are more than on the quick way, and others would come first. */
  #takePlace(reply: Promise<unknown>): void {
    reply.catch((error: unknown) => {
      if (error instanceof ErrorReply && classifyFailure(error) !== 'answered') this.#link.refusals.placeOf(error)
    })
  }

  /** The last look before it goes out: a caller who was told that nothing was sent must be right (R10). */
  #board(ticket: Ticket, shared: SharedConnection, signal: AbortSignal | undefined): SharedConnection {
    if (ticket.over || signal?.aborted) throw new AbortError()
    ticket.sentOn = shared
    return shared
  }

  async #sendBatchOnce(
    commands: readonly Args[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
  ): Promise<readonly unknown[]> {
    const ticket: Ticket = { sentOn: undefined, over: false }
    const send = async () => {
      const durable = this.#durably(profile, options, deadline, ticket)
      if (durable !== undefined) return this.#durable.writeAll(commands, durable)
      const signal = options?.abortSignal
      const shared = this.#board(ticket, await this.#connectionFor(profile, options, deadline), signal)
      const sentAt = this.#clock.refresh()
      const sendOptions = this.#optionsFor(options)
      // One synchronous run: nothing of anybody else's comes between, and node-redis flushes it in one write.
      const parts = commands.map((args) => shared.send(args, sendOptions, !profile.readOnly))
      // As long as none fails, which is the rule, no command has a step and a closure of its own.
      const replies = Promise.all(parts).catch((error: unknown) => {
        this.#asEntry(error, sentAt, shared)
        return Promise.all(parts.map((part) => part.catch((failure) => this.#asEntry(failure, sentAt, shared))))
      })
      return this.#inTime(replies, shared, profile, options, deadline)
    }
    return this.#guarded(send(), profile, options, deadline, ticket)
  }

  /** Error replies are entries of a batch; only a loss ends the whole of it. */
  #asEntry(error: unknown, sentAt: number, shared: SharedConnection): unknown {
    const kind = classifyFailure(error)
    // A MULTI without its EXEC would take everybody's commands for its own.
    if (kind === 'full' || kind === 'caller') shared.destroy(error as Error)
    if (!(error instanceof ErrorReply)) throw error
    if (kind !== 'answered') this.#link.refusals.placeOf(error)
    if (kind === 'moved') this.#repeats.refused(error, sentAt)
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
  ): Promise<T> {
    const durable = options?.replicaAck !== undefined && !profile.readOnly
    if (options?.timeoutMs === undefined && options?.abortSignal === undefined && !durable) return call
    const timeoutMs = Math.max(0, deadline - this.#clock.refresh())
    const onTimeout = () => {
      const { sentOn } = ticket
      if (typeof sentOn === 'object') this.#link.suspect(sentOn)
      const outcome = sentOn === undefined ? 'not-sent' : 'unknown'
      return this.#ends.timedOut(profile, options, outcome)
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
