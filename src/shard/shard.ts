/* A little longer than most: the one face of a shard, with what its parts tell each other. */
import type { Address } from '../address.js'
import { sameAddress } from '../address.js'
import { onAbort } from '../async/abort.js'
import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import { bounded } from '../async/deadline.js'
import { PoolClosedError, ShardUnavailableError } from '../errors.js'
import type { FailoverEvent, LeaseLeakEvent, ReconnectEvent, ShardDownEvent, ShardState } from '../events.js'
import type { Settings } from '../options.js'
import type { Connection, ConnectionFactory, RedisArgument, SendOptions } from '../redis-client.js'
import { connectMaster, type MasterSource } from '../sentinel/index.js'
import type { ShardStats } from '../stats.js'
import type { AcquireOptions, CallOptions, CommandProfile, ShardPort } from './call.js'
import { Calls } from './calls.js'
import { ShardConnections, type Slot } from './connections.js'
import { DurableLane } from './durable-lane.js'
import { reasonOf } from './failure.js'
import { Lease } from './lease.js'
import { MasterLink } from './master-link.js'
import { openPaced } from './paced.js'
import type { Trigger } from './rebuild.js'
import { ReplicaSet } from './replica-set.js'
import { Subscribers } from './subscribers.js'

export interface ShardListener {
  /** One attempt to find the master has failed; the next follows, or not. */
  onAttemptFailed(shard: string, error: Error): void
  onFailover(event: FailoverEvent): void
  onReconnect(event: ReconnectEvent): void
  onDown(event: ShardDownEvent): void
  onLeak(event: LeaseLeakEvent): void
}

export interface ShardSettings {
  readonly name: string
  readonly index: number
  readonly settings: Settings
  readonly source: MasterSource
  readonly factory: ConnectionFactory
  readonly clock: CoarseClock
  readonly listener: ShardListener
}

const CONNECT_BACKOFF = { minMs: 50, maxMs: 2_000 } as const

/** One shard: good connections to its master, whatever happens to that master. */
export class Shard implements ShardPort {
  readonly name: string
  readonly index: number
  readonly clock: CoarseClock
  settled = 0
  readonly #settings: Settings
  readonly #factory: ConnectionFactory
  readonly #listener: ShardListener
  readonly #link: MasterLink
  readonly #replicas: ReplicaSet
  readonly #calls: Calls
  readonly #connections: ShardConnections
  readonly #leases = new Set<Lease>()
  readonly #subscribers: Subscribers
  /** Connections under way, each given up when the generation changes. */
  readonly #opening = new Set<AbortController>()
  readonly #abort = new AbortController()
  readonly #sendOptions: SendOptions | undefined
  readonly #masterOnly: boolean
  readonly #stopClock: () => void
  #whenReady: (() => void)[] = []
  #sent = 0
  #failovers = 0
  #reconnects = 0

  constructor(options: ShardSettings) {
    const { name, settings, clock, factory } = options
    this.name = name
    this.index = options.index
    this.clock = clock
    this.#settings = settings
    this.#factory = factory
    this.#listener = options.listener
    this.#sendOptions = factory.typeMapping === undefined ? undefined : { typeMapping: factory.typeMapping }
    this.#link = new MasterLink({
      ...options,
      listener: {
        onRetarget: (change) => this.#retargeted(change),
        onAttemptFailed: (error) => this.#listener.onAttemptFailed(name, error),
        onReady: () => this.#ready(),
        onDown: (reason, cause) => this.#listener.onDown({ shard: name, address: this.address, reason, cause }),
      },
      answered: () => this.settled,
    })
    this.#replicas = new ReplicaSet({ ...options, serving: () => this.state === 'ready' })
    this.#masterOnly = settings.readFrom === 'master'
    const { replicas, sendOptions, link } = {
      replicas: this.#replicas,
      sendOptions: this.#sendOptions,
      link: this.#link,
    }
    const { maxWaiting } = settings.pool
    const acquire = (timeoutMs: number) => this.acquire({ timeoutMs })
    const durable = new DurableLane({
      shard: name,
      maxWaiting,
      maxInFlight: settings.maxInFlight,
      link: this.#link,
      acquire,
    })
    this.#calls = new Calls({
      shard: name,
      settings,
      clock,
      link,
      replicas,
      durable,
      sendOptions,
      closed: this.#abort.signal,
      inFlight: () => this.#sent - this.settled,
    })
    this.#connections = new ShardConnections({
      ...settings.pool,
      shard: name,
      backoff: new Backoff(CONNECT_BACKOFF),
      generation: () => this.#link.generation,
      lastError: () => this.#link.lastError,
      open: (signal) => this.#openOwn('lease', signal),
    })
    this.#subscribers = new Subscribers({
      settings,
      clock,
      closed: this.#abort.signal,
      generation: () => this.#link.generation,
      noMaster: () => new ShardUnavailableError(name, 'no-master', 0, { cause: this.lastError }),
      open: async (role, signal) => (await this.#openOwn(role, signal)).connection,
    })
    this.#stopClock = clock.onTick(
      (now) => this.#tick(now),
      () => this.#restsUntil(),
    )
  }

  get closed(): AbortSignal {
    return this.#abort.signal
  }

  get state(): ShardState {
    return this.#link.state
  }

  /** Where the verified master listens; undefined before the first one. */
  get address(): Address | undefined {
    return this.#link.address
  }

  get generation(): number {
    return this.#link.generation
  }

  /** Why the last attempt to find the master failed; undefined once one has succeeded. */
  get lastError(): Error | undefined {
    return this.#link.lastError
  }

  stats(): ShardStats {
    const link = this.#link
    return {
      name: this.name,
      state: link.state,
      address: link.address,
      generation: link.generation,
      configEpoch: link.configEpoch,
      calls: this.#sent,
      inFlight: this.#sent - this.settled,
      waiting: link.waiting,
      errors: this.#calls.errors,
      repeats: this.#calls.repeats,
      failovers: this.#failovers,
      reconnects: this.#reconnects,
      rebuilds: link.rebuilds,
      roundTrip: link.roundTrips.stats(),
      leases: this.#connections.picture(),
      sockets: link.sockets + this.#connections.sockets + this.#replicas.sockets + this.#subscribers.sockets,
      replicas: this.#replicas.addresses,
    }
  }

  send(args: readonly RedisArgument[], profile: CommandProfile, options: CallOptions | undefined): Promise<unknown> {
    this.#sent++
    // The call's deadline begins: without this it would have to wait for the next heartbeat to be noticed.
    if (this.clock.asleep) this.clock.refresh()
    const open = this.#link.open
    if (open !== undefined && this.#masterOnly) {
      if (options === undefined) return open.send(args, this.#sendOptions, !profile.readOnly)
      if (options.plain === true) return open.send(args, options, !profile.readOnly)
    }
    return this.#calls.send(args, profile, options)
  }

  recover(
    error: unknown,
    args: readonly RedisArgument[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number,
  ): Promise<unknown> {
    return this.#calls.recover(error, args, profile, options, since)
  }

  /** `send` and `recover` in one, for whoever is not in a hurry. */
  async execute(args: readonly RedisArgument[], profile: CommandProfile, options?: CallOptions): Promise<unknown> {
    const since = this.clock.now
    try {
      return await this.send(args, profile, options)
    } catch (error) {
      return await this.recover(error, args, profile, options, since)
    } finally {
      this.settled++
    }
  }

  async sendBatch(
    commands: readonly (readonly RedisArgument[])[],
    profile: CommandProfile,
    options: CallOptions | undefined,
    since?: number,
  ): Promise<readonly unknown[]> {
    const count = commands.length
    try {
      const replies = this.#calls.sendBatch(commands, profile, options, since)
      this.#sent += count
      return await replies
    } finally {
      this.settled += count
    }
  }

  /** An exclusive connection without a turn of the loop, where one was given back a moment ago; else `acquire` has to be asked. */
  acquireAtHand(): Lease | undefined {
    const slot = this.#connections.takeAtHand()
    return slot && this.#lend(slot)
  }

  /**
   * Takes an exclusive connection. A time-out of the caller's own, or a signal, ends the wait sooner than
   * `pool.acquireTimeoutMs`; what comes too late then goes back.
   * @throws AcquireTimeoutError, ShardUnavailableError, PoolClosedError, the signal's reason
   */
  async acquire(options?: AcquireOptions): Promise<Lease> {
    if (this.state === 'closed') throw new PoolClosedError()
    options?.signal?.throwIfAborted()
    const atHand = this.acquireAtHand()
    if (atHand !== undefined) return atHand
    return this.#lend(await this.#connections.acquire(options))
  }

  #lend(slot: Slot & { readonly connection: Connection }): Lease {
    const { generation } = slot
    const lease = new Lease({
      shard: this.name,
      connection: slot.connection,
      commandTimeoutMs: this.#settings.commandTimeoutMs,
      stack: this.#settings.leakWarningMs > 0 ? new Error('taken here').stack : undefined,
      giveBack: (reusable) => {
        this.#leases.delete(lease)
        return this.#connections.giveBack(slot, reusable)
      },
      onMoved: (reply) => {
        if (generation === this.#link.generation) this.#link.lost(reasonOf(reply), reply)
      },
    })
    this.#leases.add(lease)
    // It is asleep while none is out.
    this.clock.refresh()
    // The master may have changed in the turn between the hand-over and now.
    if (generation !== this.#link.generation) lease.poison('failover', new Error('the shard has a new master'))
    else if (this.#abort.signal.aborted) lease.poison('closed', new PoolClosedError())
    return lease
  }

  /** See `Subscribers.open`. */
  openSubscriber(): Promise<Connection> {
    return this.#subscribers.open()
  }

  /** Looks for the master, for the reason named. Joins the run under way. */
  trigger(trigger: Trigger): void {
    this.#link.trigger(trigger)
  }

  /** The sentinels name this address, and in this epoch. A hint like any other, but for the epoch. */
  confirm(address: Address, configEpoch: number | undefined): void {
    this.#link.confirm(address, configEpoch)
  }

  /** Sentinel promotes a node of this shard, and its message did not say which. */
  announceFailover(): void {
    this.#link.announce()
  }

  /** Sentinel has given the announced failover up, or ended it. */
  failoverOver(): void {
    this.#link.over()
  }

  /** A sentinel has said something of this shard's replicas, or it is time to ask: one joins, leaves, or was promoted. */
  refreshReplicas(): void {
    if (this.#replicas.inUse) void this.#replicas.refresh()
  }

  /** Resolves as soon as there is a verified master; at once when there is one. Rejects when the signal aborts. */
  whenReady(signal: AbortSignal): Promise<void> {
    if (this.state === 'ready' || this.state === 'holding') return Promise.resolve()
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const finish = () => {
        stopListening()
        resolve()
      }
      const stopListening = onAbort(signal, () => {
        this.#whenReady = this.#whenReady.filter((waiting) => waiting !== finish)
        reject(signal.reason as Error)
      })
      this.#whenReady.push(finish)
    })
  }

  #ready(): void {
    const waiting = this.#whenReady
    this.#whenReady = []
    for (const resolve of waiting) resolve()
  }

  /** Waits for leases and calls in flight, at most `timeoutMs`, then destroys what is left. */
  async close(timeoutMs: number): Promise<void> {
    const work = Promise.all([this.#connections.idle(), this.#drained()])
    const { signal } = this.#abort
    await bounded(work, { timeoutMs, signal, onTimeout: () => new Error('time is up') }).catch(() => {})
    this.destroy()
  }

  /** No socket and no timer is left when it returns. Idempotent. */
  destroy(): void {
    const cause = new PoolClosedError()
    this.#stopClock()
    this.#abort.abort(cause)
    this.#link.close(cause)
    this.#subscribers.destroy(cause)
    for (const lease of this.#leases) lease.poison('closed', cause)
    this.#leases.clear()
    this.#connections.destroy(cause)
    this.#replicas.close(cause)
    this.#whenReady = []
  }

  /** Resolves when every call has ended: what is in flight is waited for by a PING behind it, what waits or is repeated by the clock. */
  async #drained(): Promise<void> {
    while (this.#sent !== this.settled && !this.#abort.signal.aborted) {
      await this.#link.flushed()
      // The replies before that of the PING are on their way to their callers.
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#sent !== this.settled) await this.clock.nextTick()
    }
  }

  #tick(now: number): void {
    this.#link.tick(now)
    this.#replicas.tick(now)
    this.#connections.tick(now)
    this.#subscribers.tick(now)
    if (this.#leases.size > 0) this.#tickLeases(now)
  }

  /** Until when nothing here needs the clock, unless a call comes: an idle pool is woken for its heartbeats only. */
  #restsUntil(): number {
    if (this.#leases.size > 0) return 0
    const parts = [this.#link, this.#replicas, this.#connections, this.#subscribers]
    return Math.min(...parts.map((part) => part.restsUntil()))
  }

  #tickLeases(now: number): void {
    const { leakWarningMs, commandTimeoutMs } = this.#settings
    const downMs = commandTimeoutMs > 0 ? this.#link.downMs : 0
    for (const lease of this.#leases) {
      lease.tick(now)
      // The server answers nobody: a call that may block for ever would never hear of it.
      if (downMs > commandTimeoutMs) lease.cut(new Error(`the shard has been down for ${Math.round(downMs)} ms`))
      const ageMs = now - lease.takenAt
      if (leakWarningMs === 0 || ageMs < leakWarningMs || !lease.reportLeakOnce()) continue
      this.#listener.onLeak({ shard: this.name, ageMs: Math.round(ageMs), stack: lease.stack })
    }
  }

  #retargeted(change: Omit<FailoverEvent, 'shard'>): void {
    const { from, to, ...rest } = change
    const cause = new Error('the shard has a new master')
    for (const lease of this.#leases) lease.poison('failover', cause)
    for (const opening of this.#opening) opening.abort(cause)
    this.#connections.retire(cause)
    this.#connections.start()
    this.#subscribers.destroy(cause)
    if (this.#replicas.inUse) this.#replicas.retarget(to)
    if (from === undefined) return
    if (sameAddress(from, to)) {
      this.#reconnects++
      const { reason, generation, durationMs } = rest
      this.#listener.onReconnect({ shard: this.name, address: to, reason, generation, durationMs })
    } else {
      this.#failovers++
      this.#listener.onFailover({ shard: this.name, from, to, ...rest })
    }
  }

  /** An exclusive connection is proved like the shared one, each time one is made (R3). */
  async #openOwn(
    role: 'lease' | 'subscriber' | 'probe',
    signal: AbortSignal,
  ): Promise<{ connection: Connection; generation: number }> {
    await this.whenReady(signal)
    const generation = this.#link.generation
    // Nothing more goes to a node that is not the master any more, not even a greeting (R9).
    const opening = new AbortController()
    signal.throwIfAborted()
    const stopListening = onAbort(signal, () => opening.abort(signal.reason))
    this.#opening.add(opening)
    try {
      const connection = await openPaced(this.#link.pace, opening.signal, () =>
        connectMaster({
          masterName: this.name,
          factory: this.#factory,
          address: this.address!,
          connectionName: `${this.#settings.name}:${this.name}:${role}`,
          timeoutMs: this.#settings.connectTimeoutMs,
          signal: opening.signal,
        }),
      )
      if (generation === this.#link.generation) return { connection, generation }
      connection.destroy()
      throw new Error('the shard has a new master')
    } catch (error) {
      // The node is no master any more, or not to be reached: whether the shared connection has noticed yet or not.
      if (!signal.aborted && generation === this.#link.generation) this.#link.trigger({ reason: 'connection-lost' })
      throw error
    } finally {
      this.#opening.delete(opening)
      stopListening()
    }
  }
}
