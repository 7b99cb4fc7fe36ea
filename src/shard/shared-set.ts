import type { Address } from '../address.js'
import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import { sleep } from '../async/sleep.js'
import type { Settings } from '../options.js'
import type { Connection, ConnectionFactory, RedisArgument } from '../redis-client.js'
import { connectMaster } from '../sentinel/index.js'
import { SharedConnection } from './shared-connection.js'

export interface SharedSetSettings {
  readonly name: string
  readonly settings: Settings
  readonly factory: ConnectionFactory
  readonly clock: CoarseClock
  /** Calls of the shard that have ended: what moves while a connection is only slow. */
  answered(): number
  /** One of the present generation is gone. */
  onLost(connection: SharedConnection, cause: Error): void
  onLate(): void
  onRoundTrip(ms: number): void
}

const PING: readonly RedisArgument[] = ['PING']
/** Between two tries to open a further shared connection. */
const MORE_BACKOFF = { minMs: 50, maxMs: 2_000 } as const

/** The shared connections of one generation: the first is the one that proved the master, further ones follow it. */
export class SharedSet {
  readonly #settings: SharedSetSettings
  #all: SharedConnection[] = []
  #turn = 0
  /** Ends with the generation: what is still being opened for it is given up, for nothing more is sent to the old node (R9). */
  #era = new AbortController()

  constructor(settings: SharedSetSettings) {
    this.#settings = settings
  }

  get sockets(): number {
    return this.#all.filter((shared) => !shared.connection.ended).length
  }

  get connections(): readonly Connection[] {
    return this.#all.map((shared) => shared.connection)
  }

  /** The one connection there is; undefined where there are several, which are taken in turn, or none. */
  get only(): SharedConnection | undefined {
    return this.#all.length === 1 ? this.#all[0] : undefined
  }

  /** A sign of life is late on one of them. */
  get late(): boolean {
    return this.#all.some((shared) => shared.late)
  }

  /** One is late on which a write may be on its way. */
  get lateWithWrites(): boolean {
    return this.#all.some((shared) => shared.late && shared.mayWrite)
  }

  /** Whether every one is alive. One that is slow is; one whose sign of life is late by now is not. */
  get stands(): boolean {
    return this.#all.length > 0 && this.#all.every((shared) => !shared.connection.ended && !shared.late)
  }

  /** The next in turn. */
  next(): SharedConnection | undefined {
    const all = this.#all
    if (all.length < 2) return all[0]
    this.#turn = (this.#turn + 1) % all.length
    return all[this.#turn]
  }

  /** A new generation begins with this connection. Those of the one before are destroyed, and nobody is told. */
  renew(connection: Connection, address: Address, generation: number, cause: Error): void {
    const old = this.#all
    this.#era.abort(cause)
    this.#era = new AbortController()
    this.#all = []
    for (const shared of old) shared.destroy(cause)
    this.#all = [this.#share(connection, generation)]
    if (this.#settings.settings.sharedConnections > 1) void this.#openMore(address, generation)
  }

  tick(now: number): void {
    for (const shared of this.#all) shared.tick(now, this.#settings.clock.stalledMs)
  }

  /** Their silence until now is explained. */
  excuse(now: number): void {
    for (const shared of this.#all) shared.excuse(now)
  }

  /** Until when no tick is needed, unless a call comes. */
  restsUntil(): number {
    let until = Number.POSITIVE_INFINITY
    for (const shared of this.#all) until = Math.min(until, shared.restsUntil())
    return until
  }

  /** Their end is told as any loss. */
  destroyAll(cause: Error): void {
    for (const shared of [...this.#all]) shared.destroy(cause)
  }

  /** Resolves when all that was sent before has been answered or lost: Redis answers in order. */
  async flushed(): Promise<void> {
    await Promise.all(this.#all.map((shared) => shared.connection.send(PING).catch(() => {})))
  }

  close(cause: Error): void {
    this.#era.abort(cause)
    const all = this.#all
    this.#all = []
    for (const shared of all) shared.destroy(cause)
  }

  #share(connection: Connection, generation: number): SharedConnection {
    const { settings, clock, answered, onLost, onLate, onRoundTrip } = this.#settings
    return new SharedConnection(connection, clock.now, {
      generation,
      commandTimeoutMs: settings.commandTimeoutMs,
      heartbeatMs: settings.heartbeatMs,
      tickMs: clock.tickMs,
      answered,
      onLost: (shared, cause) => {
        if (this.#all.includes(shared)) onLost(shared, cause)
      },
      onLate,
      onRoundTrip,
    })
  }

  /** The second and further ones, one after another; the first serves meanwhile. */
  async #openMore(address: Address, generation: number): Promise<void> {
    const { name, settings, factory } = this.#settings
    const { signal } = this.#era
    const backoff = new Backoff(MORE_BACKOFF)
    while (!signal.aborted && this.#all.length < settings.sharedConnections) {
      const opened = await connectMaster({
        masterName: name,
        factory,
        address,
        connectionName: `${settings.name}:${name}:shared`,
        timeoutMs: settings.connectTimeoutMs,
        signal,
      }).catch(() => undefined)
      if (opened === undefined) await sleep(backoff.next(), signal).catch(() => {})
      else if (signal.aborted) opened.destroy()
      else this.#all.push(this.#share(opened, generation))
    }
  }
}
