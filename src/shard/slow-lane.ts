import type { Address } from '../address.js'
import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import type { Pace } from '../async/pace.js'
import { sleep } from '../async/sleep.js'
import { ShardUnavailableError } from '../errors.js'
import type { Settings } from '../options.js'
import type { ConnectionFactory } from '../redis-client.js'
import { connectMaster } from '../sentinel/index.js'
import type { CallOptions, CommandProfile } from './call.js'
import { openPaced } from './paced.js'
import type { Trigger } from './rebuild.js'
import { SharedConnection } from './shared-connection.js'
import { WaitingRoom } from './waiting-room.js'

export interface SlowLaneSettings {
  readonly name: string
  readonly settings: Settings
  readonly factory: ConnectionFactory
  readonly clock: CoarseClock
  /** The shard's link to its master, which says where that is and when it takes calls. */
  readonly link: {
    readonly address: Address | undefined
    readonly generation: number
    readonly pace: Pace
    usable(profile: CommandProfile): SharedConnection | undefined
    connectionFor(
      profile: CommandProfile,
      deadline: number,
      signal?: AbortSignal,
      settings?: { sweptAt?: number },
    ): Promise<SharedConnection>
    trigger(trigger: Trigger): void
  }
}

const READ: CommandProfile = { name: 'any read', readOnly: true }
/** Between two tries to open it. */
const BACKOFF = { minMs: 20, maxMs: 1_000 } as const

/**
 * The way of calls that may take longer than `commandTimeoutMs`: a long script, say. The fence of the connection that
 * everybody shares destroys it when the pool's deadline has come, and they would end with it; so they share another one, which
 * no deadline ends. It is opened when there is such a call, proved like every connection (R3), and closed when it was idle
 * for `pool.idleTimeoutMs`. Each of its calls has a timer of its own. A connection that is dead is found out as everywhere:
 * it is silent while the server answers on a fresh one.
 */
export class SlowLane {
  readonly #settings: SlowLaneSettings
  readonly #room: WaitingRoom
  #shared: SharedConnection | undefined
  #opening = false
  #era = new AbortController()
  #closed = false
  #openError: Error | undefined
  #sentBefore = 0
  #usedAt = 0

  constructor(settings: SlowLaneSettings) {
    const { name } = settings
    this.#settings = settings
    this.#room = new WaitingRoom({
      maxWaiting: settings.settings.pool.maxWaiting,
      full: (waiting) => new ShardUnavailableError(name, 'too-many-waiting', waiting, { cause: this.#openError }),
      overdue: (waiting) => new ShardUnavailableError(name, 'no-master', waiting, { cause: this.#openError }),
    })
  }

  get sockets(): number {
    return this.#shared === undefined ? 0 : 1
  }

  get waiting(): number {
    return this.#room.size
  }

  get late(): boolean {
    return this.#shared?.late === true
  }

  get lateWithWrites(): boolean {
    return this.late && this.#shared!.mayWrite
  }

  /** Whether a call with these settings may take longer than the shared connection gives it. */
  takes(options: CallOptions | undefined): boolean {
    const { commandTimeoutMs } = this.#settings.settings
    const own = options?.timeoutMs
    return own !== undefined && commandTimeoutMs > 0 && (own === 0 || own > commandTimeoutMs)
  }

  /** The connection, as soon as the shard takes such a command; bounded like any wait for a master. */
  async connectionFor(
    profile: CommandProfile,
    deadline: number,
    signal?: AbortSignal,
    { sweptAt = deadline }: { sweptAt?: number } = {},
  ): Promise<SharedConnection> {
    for (;;) {
      await this.#settings.link.connectionFor(profile, deadline, signal, { sweptAt })
      if (this.#shared !== undefined) return this.#shared
      void this.#open()
      await this.#room.enter(sweptAt, signal)
    }
  }

  /** Called by the coarse clock. */
  tick(now: number): void {
    this.#room.sweep(now)
    const shared = this.#shared
    if (shared === undefined) return
    shared.tick(now, this.#settings.clock.stalledMs)
    if (shared.sent !== this.#sentBefore || !shared.quiet) {
      this.#sentBefore = shared.sent
      this.#usedAt = now
    } else if (now - this.#usedAt >= this.#settings.settings.pool.idleTimeoutMs) {
      shared.destroy(new Error('nobody has used it for a while'))
    }
  }

  /** Until when no tick is needed, unless a call comes. */
  restsUntil(): number {
    if (this.#room.size > 0) return 0
    const shared = this.#shared
    if (shared === undefined) return Number.POSITIVE_INFINITY
    if (!shared.quiet) return 0
    return Math.min(shared.restsUntil(), this.#usedAt + this.#settings.settings.pool.idleTimeoutMs)
  }

  /** Its silence until now is explained. */
  excuse(now: number): void {
    this.#shared?.excuse(now)
  }

  /** The server answers on a fresh connection: one that is silent all the same is dead. */
  serverAnswers(): void {
    if (this.late) this.#shared?.destroy(new Error('silent, while the server answers elsewhere'))
  }

  /**
   * The shard has connections of a new generation. On the same server a long call goes on: its script is what kept the
   * server from answering the others. To an old master nothing more is sent (R9).
   */
  renew(sameServer: boolean, cause: Error): void {
    this.#era.abort(cause)
    this.#era = new AbortController()
    if (sameServer) this.serverAnswers()
    else this.#shared?.destroy(cause)
  }

  destroyConnection(cause: Error): void {
    this.#shared?.destroy(cause)
  }

  close(error: () => Error): void {
    this.#closed = true
    this.#era.abort(error())
    this.#shared?.destroy(error())
    this.#room.fail(error)
  }

  /** Tries, with pauses, until it is open or nobody waits for it any more. */
  async #open(): Promise<void> {
    if (this.#opening) return
    this.#opening = true
    const backoff = new Backoff(BACKOFF)
    do {
      const opened = this.#settings.link.usable(READ) !== undefined && (await this.#try())
      // It may have ended in the turn between.
      if (opened && this.#shared !== undefined) break
      await sleep(backoff.next(), this.#era.signal).catch(() => {})
    } while (!this.#closed && this.#shared === undefined && this.#room.size > 0)
    this.#opening = false
    if (this.#shared !== undefined) this.#room.open()
  }

  async #try(): Promise<boolean> {
    const { name, settings, factory, clock, link } = this.#settings
    const { generation } = link
    const { signal } = this.#era
    try {
      const connection = await openPaced(link.pace, signal, () =>
        connectMaster({
          masterName: name,
          factory,
          address: link.address!,
          connectionName: `${settings.name}:${name}:slow`,
          timeoutMs: settings.connectTimeoutMs,
          signal,
        }),
      )
      if (signal.aborted || connection.ended) {
        connection.destroy()
        return false
      }
      this.#openError = undefined
      this.#sentBefore = 0
      this.#usedAt = clock.refresh()
      this.#shared = new SharedConnection(connection, this.#usedAt, {
        generation,
        commandTimeoutMs: 0,
        heartbeatMs: settings.heartbeatMs,
        tickMs: clock.tickMs,
        onLost: (lost) => {
          if (this.#shared === lost) this.#shared = undefined
        },
        onLate: () => link.trigger({ reason: 'call-timeout' }),
      })
      return true
    } catch (error) {
      this.#openError = error as Error
      if (!signal.aborted) link.trigger({ reason: 'connection-lost' })
      return false
    }
  }
}
