/* A little longer than most: the state, what moves it, and what a move does belong in one place. */
import { type Address, addressKey, sameAddress } from '../address.js'
import type { CoarseClock } from '../async/clock.js'
import { bounded } from '../async/deadline.js'
import { Pace } from '../async/pace.js'
import { sleep } from '../async/sleep.js'
import { PoolClosedError, ShardUnavailableError } from '../errors.js'
import type { RebuildReason, ShardState } from '../events.js'
import type { Settings } from '../options.js'
import { type Connection, type ConnectionFactory, ErrorReply, isSameServer } from '../redis-client.js'
import type { MasterSource, VerifiedMaster } from '../sentinel/index.js'
import type { CommandProfile } from './call.js'
import { Rebuilder, type Trigger } from './rebuild.js'
import { RefusedWrites } from './refused-writes.js'
import { RoundTrips } from './round-trips.js'
import type { SharedConnection } from './shared-connection.js'
import { SharedSet } from './shared-set.js'
import { SlowLane } from './slow-lane.js'
import { nextState, type ShardSignal } from './states.js'
import { WaitingRoom } from './waiting-room.js'

/** What the link tells: always after its own state is as told. */
export interface LinkListener {
  /** A new generation is in use. `from` is undefined for the first one; equal to `to` after a mere reconnect. */
  onRetarget(change: {
    from: Address | undefined
    to: Address
    reason: RebuildReason
    generation: number
    configEpoch: number | undefined
    durationMs: number
  }): void
  onDown(reason: RebuildReason, cause: Error): void
  onAttemptFailed(error: Error): void
  /** There is a verified master again, be it the same one as before. */
  onReady(): void
}

export interface MasterLinkSettings {
  readonly name: string
  readonly settings: Settings
  readonly source: MasterSource
  readonly factory: ConnectionFactory
  readonly clock: CoarseClock
  readonly listener: LinkListener
  /** Calls of the shard that have ended: what moves while a connection is only slow. */
  answered(): number
}

/** A master that was verified so short a time ago is not asked again because one call timed out, in ms. */
const SUSPECT_PAUSE_MS = 500
/** Of connections that fail, or are lost at once: `pool.max` and so many at once, then so many a second. */
const OWN_PACE = { more: 4, perSecond: 4 } as const
/** A call that has waited needs at least so long to be answered in, in ms. */
const LAST_TRY_MS = 20
/** One that was refused needs more: it goes out together with all that were, and they may be thousands. */
export const LAST_REPEAT_MS = 50
/** A server that could not answer for a while answers all connections at once: so long the suspected one may take, in ms. */
export const SIGN_GRACE_MS = 100
/** Between the answers to two commands that were sent together, at most, in ms. */
const SIGN_GAP_MS = 20
const PING = ['PING'] as const
const PUBLISH_NOTHING = ['PUBLISH', '__sharded_sentinel_pool:sign', ''] as const

/**
 * The link of one shard to its verified master: the shared connections, the state machine, and the single-flight rebuild
 * that every trigger leads to (R4). Calls wait here, bounded, while there is no master.
 */
export class MasterLink {
  /** The connection ordinary calls may use right now; set in `ready` only, so that a call asks nothing else. */
  open: SharedConnection | undefined
  /** How long the master takes to answer. */
  readonly roundTrips = new RoundTrips()
  /** How often leases, subscribers and the slow lane may try to connect in vain. */
  readonly pace: Pace
  /** For calls that may take longer than `commandTimeoutMs`. */
  readonly slow: SlowLane
  /** Writes that the master refuses for now. */
  readonly refusals = new RefusedWrites({
    onPause: () => {
      this.open = undefined
    },
    onOver: () => this.#goOn(),
  })
  readonly #name: string
  readonly #settings: Settings
  readonly #clock: CoarseClock
  readonly #listener: LinkListener
  readonly #rebuilder: Rebuilder
  readonly #room: WaitingRoom
  readonly #shared: SharedSet
  #state: ShardState = 'connecting'
  #address: Address | undefined
  /** Other spellings of `#address` that proved to lead to the same server, as keys. */
  readonly #spellings = new Set<string>()
  #configEpoch: number | undefined
  #generation = 0
  #verifiedAt = 0
  /** It proved the master, and a message that counts as a write has no answer on it. */
  #heldBack: Connection | undefined
  /** The event of a new master is being told: what a listener calls goes out after what has waited. */
  #telling = false
  #holdUntil = Number.POSITIVE_INFINITY
  #down: { readonly at: number; readonly reason: RebuildReason } | undefined
  #lastError: Error | undefined

  constructor(options: MasterLinkSettings) {
    const { name, settings } = options
    this.#name = name
    this.#settings = settings
    this.#clock = options.clock
    this.#listener = options.listener
    this.#shared = new SharedSet({
      ...options,
      onLost: (shared, cause) => this.lost(shared.timedOut ? 'call-timeout' : 'connection-lost', cause),
      onLate: () => this.#rebuilder.trigger({ reason: 'call-timeout' }),
      onRoundTrip: (ms) => this.roundTrips.add(ms),
    })
    this.pace = new Pace({ burst: settings.pool.max + OWN_PACE.more, perSecond: OWN_PACE.perSecond })
    this.slow = new SlowLane({ ...options, link: this })
    this.#rebuilder = new Rebuilder({
      masterName: name,
      source: options.source,
      attemptTimeoutMs: settings.connectTimeoutMs + 2 * settings.sentinelTimeoutMs,
      beforeVerified: (verified, signal) => this.#awaitSign(verified, signal),
      onVerified: (verified, trigger, startedAt) => this.#adopt(verified, trigger, startedAt),
      onFailed: (error) => {
        this.#lastError = error
        this.#listener.onAttemptFailed(error)
        return this.#state !== 'ready' || this.#shared.late || this.slow.late
      },
    })
    this.#room = new WaitingRoom({
      maxWaiting: settings.pool.maxWaiting,
      full: (waiting) => new ShardUnavailableError(name, 'too-many-waiting', waiting, { cause: this.#lastError }),
      overdue: (waiting) => this.waitedInVain(waiting),
    })
  }

  get state(): ShardState {
    return this.#state
  }

  get address(): Address | undefined {
    return this.#address
  }

  get configEpoch(): number | undefined {
    return this.#configEpoch
  }

  get generation(): number {
    return this.#generation
  }

  /** `clock.now` of the last verification: an answer to something sent before it is from the connection before. */
  get verifiedAt(): number {
    return this.#verifiedAt
  }

  /** Why the last attempt to find the master failed; undefined once one has succeeded. */
  get lastError(): Error | undefined {
    return this.#lastError
  }

  get waiting(): number {
    return this.#room.size + this.slow.waiting
  }

  get sockets(): number {
    return this.#shared.sockets + this.slow.sockets
  }

  /** For how long the shard has been without a usable connection, in ms; 0 while it has one. */
  get downMs(): number {
    return this.#down === undefined ? 0 : performance.now() - this.#down.at
  }

  get rebuilds(): number {
    return this.#rebuilder.runs
  }

  /** A connection this command may use now, or undefined when it has to wait. */
  usable(profile: CommandProfile): SharedConnection | undefined {
    if (this.#telling || (this.#state !== 'ready' && !(this.#state === 'holding' && profile.readOnly))) return undefined
    if (this.refusals.paused && !profile.readOnly) return undefined
    return this.#shared.next()
  }

  /**
   * The same, waiting for it until `deadline` at the longest. `place`: the call was sent before and refused, and goes before
   * those that were not. `sweptAt`: later than the deadline, where a timer of the caller's tells of that. @throws ShardUnavailableError, PoolClosedError
   */
  async connectionFor(
    profile: CommandProfile,
    deadline: number,
    signal?: AbortSignal,
    { place, sweptAt = deadline }: { place?: number | undefined; sweptAt?: number } = {},
  ): Promise<SharedConnection> {
    let halfTimeMs: number | undefined
    for (;;) {
      const shared = this.usable(profile)
      if (shared !== undefined) return shared
      if (this.#state === 'closed') throw new PoolClosedError()
      const { cause } = this.refusals
      // Who waits is sent away by a tick, and the clock may be asleep.
      const now = this.#clock.refresh()
      halfTimeMs ??= (deadline - now) / 2
      const lastTryMs = Math.min(cause === undefined ? LAST_TRY_MS : LAST_REPEAT_MS, halfTimeMs)
      await this.#room.enter(sweptAt, signal, place)
      // The room opens for all at once. Who has no time left for an answer is not sent: that would end as `unknown`.
      if (this.#clock.refresh() >= deadline - lastTryMs) throw this.waitedInVain(this.#room.size, cause)
    }
  }

  /** What a call that waited in vain is told: while it waited out a refusal, that, as an error of its own. */
  waitedInVain(waiting = this.waiting, refusal = this.refusals.cause): Error {
    if (this.#state === 'ready' && refusal instanceof ErrorReply) return new ErrorReply(refusal.message)
    return new ShardUnavailableError(this.#name, 'no-master', waiting, { cause: this.#lastError })
  }

  /** Looks for the master. Traffic goes on meanwhile, unless a message names another node: then writes are held. */
  trigger(trigger: Trigger): void {
    const news = trigger.candidate ?? trigger.hint
    // The first search asks the sentinels itself: what the first subscription makes us ask beside it is nothing new.
    if (this.#state === 'connecting' && trigger.reason === 'watch-gap' && this.#rebuilder.running) return
    if (news !== undefined) {
      // The same switch, told by the next sentinel: done already (R4). And a check names the old node until the switch is
      // announced: while a failover is followed ahead of that, or a dead master is waited out, it is no news.
      const isCheck = trigger.reason === 'periodic-check' || trigger.reason === 'watch-gap'
      if ((isCheck || this.#state === 'ready') && this.#isHere(news)) return
      this.#hold()
    }
    this.#rebuilder.trigger({ ...trigger, followMs: this.#settings.holdWritesMs })
  }

  /** What the sentinels agree on by now: a master that was followed ahead of them gets its epoch here. */
  confirm(address: Address, configEpoch: number | undefined): void {
    if (configEpoch !== undefined && this.#address !== undefined && sameAddress(address, this.#address)) {
      this.#configEpoch = configEpoch
    }
  }

  /** A node is being promoted, and the message did not say which. */
  announce(): void {
    this.#hold()
  }

  /** The announced failover is off. */
  over(): void {
    if (this.#state !== 'holding') return
    this.#rebuilder.stopFollowing()
    if (!this.#rebuilder.running) this.#signal('over')
  }

  /** This node has proved that it is no master (READONLY, MASTERDOWN), or cannot be used any more. */
  lost(reason: RebuildReason, cause: Error): void {
    if (this.#state === 'closed') return
    this.#signal('lost')
    if (this.#down === undefined) {
      this.#down = { at: performance.now(), reason }
      this.#lastError ??= cause
      this.#listener.onDown(reason, cause)
    }
    this.#rebuilder.trigger({ reason })
  }

  /** Called by the coarse clock. */
  tick(now: number): void {
    this.#room.sweep(now)
    this.#shared.tick(now)
    this.slow.tick(now)
    if (this.#state === 'holding' && now >= this.#holdUntil) this.#signal('over')
  }

  /** Until when no tick is needed, unless a call comes; 0 while something may be due at any of them. */
  restsUntil(): number {
    if (this.#state !== 'ready' || this.#room.size > 0) return 0
    return Math.min(this.#shared.restsUntil(), this.slow.restsUntil())
  }

  /** A call on `shared` ran out of time: is it the connection, or only a slow command? */
  suspect(shared: SharedConnection): void {
    const now = this.#clock.refresh()
    shared.probe(now)
    // Calls that time out one after another do not each ask a server anew that has just proved to be well.
    if (now - this.#verifiedAt >= SUSPECT_PAUSE_MS) this.#rebuilder.trigger({ reason: 'call-timeout' })
  }

  /** The login of the connections is no longer good; what was sent before `sentAt` may be from the ones before. */
  loginLost(cause: Error): void {
    this.slow.destroyConnection(cause)
    this.#shared.destroyAll(cause)
  }

  /** Resolves when all that was sent before on the shared connections has been answered or lost. */
  flushed(): Promise<void> {
    return this.#shared.flushed()
  }

  close(cause: Error): void {
    if (this.#state === 'closed') return
    this.#signal('close')
    this.refusals.close()
    this.#rebuilder.stop()
    this.#room.fail(() => new PoolClosedError())
    this.slow.close(() => new PoolClosedError())
    this.#shared.close(cause)
  }

  #hold(): void {
    if (this.#state !== 'ready' || this.#settings.holdWritesMs === 0) return
    this.#holdUntil = this.#clock.refresh() + this.#settings.holdWritesMs
    this.#signal('announced')
  }

  #signal(signal: ShardSignal): void {
    const next = nextState(this.#state, signal)
    if (next === this.#state) return
    this.#state = next
    this.#goOn()
    if (next === 'ready') this.#listener.onReady()
  }

  /** Who waits goes on, if there is reason to. */
  #goOn(): void {
    const ready = this.#state === 'ready'
    const quick = ready && !this.refusals.paused && this.#settings.sharedConnections === 1
    this.open = quick ? this.#shared.only : undefined
    if (ready) this.#room.open()
  }

  /** What is called in this turn of the loop, by a listener's continuation say, waits behind those who have waited. */
  #goOnAfterWaiting(): void {
    const generation = this.#generation
    const goOn = () => {
      if (generation !== this.#generation) return
      this.#telling = false
      this.#goOn()
    }
    if (this.#room.size === 0) goOn()
    else setImmediate(goOn)
  }

  /** True when it brought a new generation. */
  #adopt(verified: VerifiedMaster, trigger: Trigger, startedAt: number): boolean {
    if (this.#state === 'closed') {
      verified.connection.destroy()
      return false
    }
    if (verified.connection === this.#heldBack && !(this.#isHere(verified.address) && this.#shared.stands)) {
      // What is asked on it now would wait for the end of the pause, as the message to nobody does.
      verified.connection.destroy()
      this.#rebuilder.trigger({ reason: trigger.reason })
      return false
    }
    this.#lastError = undefined
    this.#learnSpelling(verified)
    if (this.#isHere(verified.address) && this.#shared.stands) {
      verified.connection.destroy()
      this.#configEpoch = verified.configEpoch ?? this.#configEpoch
      this.#down = undefined
      this.#verifiedAt = this.#clock.refresh()
      this.slow.serverAnswers()
      this.#signal('verified')
      return false
    }
    this.#retarget(verified, trigger, startedAt)
    return true
  }

  #isHere(address: Address): boolean {
    if (this.#address === undefined) return false
    return sameAddress(address, this.#address) || this.#spellings.has(addressKey(address))
  }

  /** A name in place of an IP, or the other way round, is no new master. Ended connections still tell where they led. */
  #learnSpelling({ address, connection }: VerifiedMaster): void {
    if (this.#isHere(address)) return
    if (this.#shared.connections.some((shared) => isSameServer(shared, connection))) {
      this.#spellings.add(addressKey(address))
    }
  }

  /**
   * A long script, or a stop, kept the server from answering anybody, and the fresh connection's answer may be read before
   * those of the suspected ones, which came at the same time: they get a moment to show that they are alive. And where the
   * server holds back what writes (CLIENT PAUSE … WRITE, or its own FAILOVER), a connection with a write on it is silent and
   * well: then a message to nobody, which counts as a write, has no answer either.
   */
  #awaitSign({ address, connection }: VerifiedMaster, signal: AbortSignal): Promise<void> | undefined {
    if (!this.#isHere(address) || !(this.#shared.late || this.slow.late)) return undefined
    if (!this.#shared.lateWithWrites && !this.slow.lateWithWrites) return sleep(SIGN_GRACE_MS, signal).catch(() => {})
    return this.#excuseIfPaused(connection, signal).catch(() => {})
  }

  async #excuseIfPaused(connection: Connection, signal: AbortSignal): Promise<void> {
    let isPaused = true
    const onAnswer = () => {
      isPaused = false
    }
    const ping = connection.send(PING)
    connection.send(PUBLISH_NOTHING).then(onAnswer, onAnswer)
    const { connectTimeoutMs: timeoutMs } = this.#settings
    const since = performance.now()
    await bounded(ping, { timeoutMs, signal, onTimeout: () => new Error('no answer') })
    // The two answers come together, where both come.
    await sleep(Math.max(SIGN_GAP_MS, SIGN_GRACE_MS - (performance.now() - since)), signal)
    if (!isPaused) return
    this.#heldBack = connection
    const now = this.#clock.refresh()
    this.#shared.excuse(now)
    this.slow.excuse(now)
  }

  #retarget(verified: VerifiedMaster, trigger: Trigger, startedAt: number): void {
    const from = this.#address
    const to = from !== undefined && this.#isHere(verified.address) ? from : verified.address
    const since = this.#down ?? { at: startedAt, reason: trigger.reason }
    this.#down = undefined
    const cause = new Error('the shard has a new master')
    this.#generation++
    this.#address = to
    this.#spellings.clear()
    this.#configEpoch = verified.configEpoch
    this.#verifiedAt = this.#clock.refresh()
    this.#state = nextState(this.#state, 'verified')
    // From here on nothing more is sent to the old node (R9): its connections are cut before a waiting call goes on.
    this.#shared.renew(verified.connection, to, this.#generation, cause)
    this.refusals.reset()
    this.open = undefined
    this.slow.renew(from !== undefined && sameAddress(from, to), cause)
    this.#telling = true
    this.#listener.onRetarget({
      from,
      to,
      reason: since.reason,
      generation: this.#generation,
      configEpoch: this.#configEpoch,
      durationMs: Math.round(performance.now() - since.at),
    })
    this.#goOnAfterWaiting()
    this.#listener.onReady()
    // It may have ended between the proof and now.
    if (verified.connection.ended) this.lost('connection-lost', verified.connection.cause!)
  }
}
