import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import type { TestPool } from '../support/pool-on-topology.js'
import { breakThings } from './faults.js'
import { Invariants } from './invariants.js'
import { Ledger } from './ledger.js'
import { SimNetwork } from './network.js'
import { chooseOptions, PAUSES_FROM, TRAINS_FROM, WIDE_FROM } from './options.js'
import { Random } from './random.js'
import { VirtualTime } from './virtual-time.js'
import { Workload } from './workload.js'
import { World } from './world.js'

export interface SimulationResult {
  readonly seed: number
  readonly violation: Error | undefined
  /** Every step of note, with its moment in ms. */
  readonly trace: readonly string[]
  readonly calls: number
  readonly codes: Readonly<Record<string, number>>
  readonly failovers: number
  readonly virtualMs: number
  readonly events: number
}

/** How long things go wrong, and how long a shard may take to serve again when nothing does any more, in virtual ms. */
const STORM_MS = 3_000
const RECOVERY_MS = 6_000
/** Calm traffic at the end, after the last move of a master. */
const CALM_MS = 500

/**
 * One run: a world, a pool, callers and faults, all drawn from the seed. Nothing of it is left behind. It tells its steps with
 * `trace`, every packet too with `packets`. With `sabotage` the pool repeats writes that may have run: the books must show it.
 */
export async function simulate(
  seed: number,
  { trace: tells = false, packets = false, sabotage = false } = {},
): Promise<SimulationResult> {
  const random = new Random(seed)
  const time = new VirtualTime(tells)
  const ledger = new Ledger(time, tells)
  const { stackTraceLimit } = Error
  // Errors are most of what a run makes, and nobody reads where.
  if (!tells) Error.stackTraceLimit = 0
  const onRejection = (reason: unknown) => ledger.broken(`unhandled rejection: ${(reason as Error)?.stack ?? reason}`)
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onRejection)
  time.install(random.int(0, 2 ** 31))
  const network = new SimNetwork(time, random.fork())
  network.install()
  if (packets) {
    network.onPacket = (link, way, text) => {
      ledger.note(`${way} ${link.id} ${link.address.port} ${link.name} ${JSON.stringify(text)}`)
    }
  }
  const counts = { failovers: 0 }
  try {
    await new Simulation({ random, time, ledger, network, counts, sabotage, seed }).run()
  } catch (error) {
    ledger.broken(`the run itself failed: ${(error as Error).stack}`)
  } finally {
    network.uninstall()
    time.uninstall()
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onRejection)
    Error.stackTraceLimit = stackTraceLimit
  }
  const { violation, trace, calls, codes } = ledger
  const { failovers } = counts
  return {
    seed,
    violation,
    trace,
    calls: calls.length,
    codes,
    failovers,
    virtualMs: time.now - 1_000,
    events: time.events,
  }
}

interface SimulationParts {
  readonly random: Random
  readonly time: VirtualTime
  readonly ledger: Ledger
  readonly network: SimNetwork
  readonly counts: { failovers: number }
  readonly sabotage: boolean
  readonly seed: number
}

class Simulation {
  readonly #seed: number
  readonly #wide: boolean
  readonly #random: Random
  readonly #time: VirtualTime
  readonly #ledger: Ledger
  readonly #network: SimNetwork
  readonly #world: World
  readonly #options: PoolOptions
  readonly #pool: TestPool
  readonly #invariants: Invariants
  readonly #load: Workload
  /** Start and bound of the `close()` under way. */
  #mustBeClosedBy = Number.POSITIVE_INFINITY

  constructor({ random, time, ledger, network, counts, sabotage, seed }: SimulationParts) {
    this.#random = random
    this.#time = time
    this.#ledger = ledger
    this.#network = network
    this.#world = new World(time, random.fork(), network, ledger, {
      greetings: seed >= TRAINS_FROM,
      leastGapMs: seed >= PAUSES_FROM ? 400 : 0,
    })
    this.#seed = seed
    this.#wide = seed >= WIDE_FROM
    this.#options = chooseOptions(random, this.#world, this.#wide)
    const options = this.#options
    this.#pool = new ShardedSentinelPool(sabotage ? { ...options, retry: 'always' } : options)
    this.#pool.on('failover', () => counts.failovers++)
    const { commandTimeoutMs, retry, sharedConnections, readFrom } = options as Required<PoolOptions>
    const bounds = { leases: options.pool!.max!, shared: sharedConnections, fromReplicas: readFrom !== 'master' }
    this.#invariants = new Invariants(this.#world, network, ledger, this.#pool, bounds)
    this.#load = new Workload(this.#pool, random.fork(), ledger, time, {
      commandTimeoutMs,
      acquireTimeoutMs: options.pool!.acquireTimeoutMs!,
      slackMs: 3 * Math.max(5, commandTimeoutMs / 10) + 10,
      retryAlways: retry === 'always' && !sabotage,
      trains: seed >= TRAINS_FROM,
      keepsOrder: sharedConnections === 1 && retry !== 'always',
    })
    const byName = new Map(this.#world.shards.map((shard, i) => [shard.name, i]))
    ledger.ownerOf = (key) => byName.get(this.#pool.locate(key))!
  }

  async run(): Promise<void> {
    const { masters: _m, sentinels: _s, ...shown } = this.#options
    this.#ledger.note(`options ${JSON.stringify(shown)}`)
    const end = this.#time.now + STORM_MS
    const connected = this.#connect()
    await this.#until(() => this.#pool.isOpen, 100)
    const callers = Array.from({ length: this.#random.int(2, 6) }, () => this.#load.work())
    breakThings(this.#world, this.#random.fork(), end, this.#seed)
    const restless = this.#random.chance(this.#wide ? 0.5 : 0.3) ? this.#openAndClose(end) : undefined
    await this.#until(() => false, end)
    this.#world.heal()
    await this.#settle([connected, restless])
    // A failover under way ends, and the sentinels agree, within this.
    await this.#until(() => false, this.#time.now + 1_600)
    await this.#reconnectIfClosed()
    const agree = () => this.#standsRight()
    if (!(await this.#until(agree, this.#time.now + RECOVERY_MS)))
      this.#ledger.broken(`not recovered: ${this.#whereItStands()}`)
    const calmSince = this.#time.now
    await this.#until(() => false, calmSince + CALM_MS)
    this.#load.stopped = true
    if (!(await this.#settle(callers))) this.#ledger.broken('a caller never ended')
    let unrest: string | undefined
    const isAtRest = () => {
      unrest = this.#invariants.unrest()
      return unrest === undefined
    }
    if (!(await this.#until(isAtRest, this.#time.now + 2_000))) this.#ledger.broken(unrest!)
    this.#checkNothingLost(calmSince)
    if (!(await this.#settle([this.#close('close')]))) this.#ledger.broken('the last close() never ended')
    this.#checkNothingLeft()
  }

  async #connect(): Promise<void> {
    this.#load.connected = false
    try {
      await this.#pool.connect()
      this.#load.connected = true
      this.#ledger.note('connected')
    } catch (error) {
      this.#ledger.note(`connect failed: ${error}`)
      await this.#time.sleep(0)
      if (!this.#pool.isOpen) this.#checkNothingLeft()
    }
  }

  /** Somebody closes the pool, in whatever way, and connects it again. */
  async #openAndClose(end: number): Promise<void> {
    while (this.#time.now < end - 500) {
      await this.#time.sleep(this.#random.between(100, 1_500))
      const way = this.#random.pick(['close', 'destroy'] as const)
      this.#ledger.note(way)
      const closing = this.#close(way)
      if (this.#random.chance(0.3)) void this.#close(this.#random.pick(['close', 'destroy'] as const))
      await closing
      const connecting = this.#connect()
      // It may be closed before it is open.
      if (this.#wide && this.#random.chance(0.3)) await this.#time.sleep(this.#random.between(0, 20))
      else await connecting
    }
  }

  async #close(way: 'close' | 'destroy'): Promise<void> {
    const timeoutMs = this.#random.int(10, 300)
    if (way === 'destroy') this.#pool.destroy()
    else {
      // A second call joins the first, with the bound of the first.
      if (this.#mustBeClosedBy === Number.POSITIVE_INFINITY) this.#mustBeClosedBy = this.#time.now + timeoutMs + 20
      await this.#pool.close({ timeoutMs })
      this.#mustBeClosedBy = Number.POSITIVE_INFINITY
    }
    this.#ledger.note(`${way} is done`)
    // What it has aborted ends in the promise jobs of this very moment.
    await this.#time.sleep(0)
    if (!this.#pool.isOpen) this.#checkNothingLeft()
  }

  #checkNothingLeft(): void {
    const sockets = [...this.#network.open].map(({ address, name }) => `${address.port} ${name}`)
    if (sockets.length > 0) this.#ledger.broken(`sockets left after close: ${sockets.join(', ')}`)
    const timers = this.#time.pendingOfSubject
    for (const origin of this.#time.origins) this.#ledger.note(`a timer is left: ${origin}`)
    if (timers > 0) this.#ledger.broken(`${timers} timers left after close`)
  }

  async #until(done: () => boolean, limit: number): Promise<boolean> {
    const reached = await this.#time.runUntil(
      () => this.#ledger.violation !== undefined || done(),
      limit,
      () => {
        this.#invariants.afterStep()
        if (this.#time.now > this.#mustBeClosedBy) this.#ledger.broken('close() has not ended within its bound')
      },
    )
    if (this.#ledger.violation !== undefined) throw this.#ledger.violation
    return reached
  }

  /** Lets time pass until all have ended, at most a while. */
  async #settle(work: readonly (Promise<void> | undefined)[]): Promise<boolean> {
    let settled = false
    void Promise.all(work).then(() => {
      settled = true
    })
    return this.#until(() => settled, this.#time.now + 10_000)
  }

  async #reconnectIfClosed(): Promise<void> {
    if (!this.#pool.isOpen && !(await this.#settle([this.#connect()]))) this.#ledger.broken('connect() never ended')
  }

  #standsRight(): boolean {
    const { shards } = this.#pool.stats()
    return this.#world.shards.every(({ master }, i) => {
      const { address, state } = shards[i]!
      return state === 'ready' && address?.port === master.address.port
    })
  }

  #whereItStands(): string {
    const { shards } = this.#pool.stats()
    return this.#world.shards
      .map(
        ({ name, master }, i) =>
          `${name} ${shards[i]!.state} at ${shards[i]!.address?.port}, master ${master.address.port}`,
      )
      .join('; ')
  }

  #checkNothingLost(since: number): void {
    for (const { ids, startedAt, outcome, what } of this.#ledger.calls) {
      if (outcome !== 'acknowledged' || startedAt < since || what === 'blPop') continue
      for (const id of ids) {
        if (this.#world.shards.some(({ master }) => master.data.has(id))) continue
        this.#ledger.broken(`${what} ${id} was acknowledged after the last switch and is lost`)
      }
    }
  }
}
