import type { Address } from './address.js'
import { CoarseClock } from './async/clock.js'
import type { SentinelEvent, SentinelStateEvent } from './events.js'
import type { Settings } from './options.js'
import type { ConnectionFactory } from './redis-client.js'
import {
  type ConnectionKind,
  CustomSource,
  type MasterSource,
  SentinelList,
  SentinelResolver,
  SentinelWatcher,
  StaticSource,
} from './sentinel/index.js'
import { Shard, type ShardListener } from './shard/shard.js'
import type { SentinelStats } from './stats.js'

export interface AssemblyListener extends ShardListener {
  onSentinelEvent(event: SentinelEvent): void
  onSentinelState(event: SentinelStateEvent): void
  onError(error: Error): void
}

export interface AssemblySettings {
  readonly settings: Settings
  readonly dataFactory: ConnectionFactory
  readonly sentinelFactory: ConnectionFactory
  readonly listener: AssemblyListener
  /** Stands between the shards and whoever finds their masters. */
  readonly guard?: { over(source: MasterSource): MasterSource } | undefined
}

/**
 * One connected life of a pool, from `connect()` to `close()`: the shards, whoever knows their masters, and whoever hears
 * of changes. News goes from the watcher to the one shard it concerns; nothing is decided here.
 */
export class Assembly {
  readonly shards: readonly Shard[]
  readonly #settings: Settings
  readonly #source: MasterSource
  readonly #watcher: SentinelWatcher | undefined
  readonly #byName = new Map<string, Shard>()
  readonly #abort = new AbortController()
  #poll: NodeJS.Timeout | undefined
  #watchResolver: (() => () => void) | undefined
  #stopWatch: (() => void) | undefined
  #checking = false
  #checks = 0
  #checkAgain: 'periodic-check' | 'watch-gap' | undefined

  constructor(options: AssemblySettings) {
    const { settings, dataFactory, sentinelFactory, listener } = options
    this.#settings = settings
    // As CLIENT LIST shows it: pool, shard, role. A verified master's connection is what ordinary commands share.
    const connectionName = (kind: ConnectionKind, masterName?: string) =>
      [settings.name, masterName, kind === 'data' ? 'shared' : kind].filter((part) => part !== undefined).join(':')
    const proof = { dataFactory, connectTimeoutMs: settings.connectTimeoutMs, mapAddress: settings.mapAddress }
    if (settings.sentinels.length > 0) {
      const list = new SentinelList(settings.sentinels)
      const { sentinelTimeoutMs } = settings
      this.#source = new SentinelResolver({ ...proof, list, sentinelFactory, sentinelTimeoutMs, connectionName })
      this.#watcher = this.#makeWatcher(list, sentinelFactory, connectionName, listener)
    } else if (settings.resolver !== undefined) {
      const onError = (error: Error) => listener.onError(error)
      const source = new CustomSource({ ...proof, resolver: settings.resolver, connectionName, onError })
      this.#source = source
      this.#watchResolver = () =>
        source.watch([...this.#byName.keys()], (name) =>
          this.#byName.get(name)?.trigger({ reason: 'switch-master', asksAnew: true }),
        )
    } else {
      const addresses = new Map(settings.masters.map(({ name, address }) => [name, settings.mapAddress(address!)]))
      this.#source = new StaticSource({ ...proof, addresses, connectionName })
    }
    const source = options.guard?.over(this.#source) ?? this.#source
    const clock = new CoarseClock(tickFor(settings))
    this.shards = settings.masters.map(
      ({ name }, index) => new Shard({ name, index, settings, source, factory: dataFactory, clock, listener }),
    )
    for (const shard of this.shards) this.#byName.set(shard.name, shard)
  }

  /** Begins to look for every master, and to listen. */
  start(): void {
    this.#watcher?.start()
    for (const shard of this.shards) shard.trigger({ reason: 'connect' })
    this.#poll = setInterval(() => this.#check('periodic-check'), this.#settings.pollIntervalMs)
    this.#poll.unref()
    this.#stopWatch = this.#watchResolver?.()
  }

  sentinelStats(): readonly SentinelStats[] {
    return this.#watcher?.stats() ?? []
  }

  /** Ends listening and asking, lets each shard finish its work, at most `timeoutMs`, and leaves no socket. */
  async close(timeoutMs: number): Promise<void> {
    await Promise.all(this.shards.map((shard) => shard.close(timeoutMs)))
    this.destroy()
  }

  destroy(): void {
    this.#abort.abort(new Error('closed'))
    clearInterval(this.#poll)
    this.#stopWatch?.()
    this.#watcher?.close()
    for (const shard of this.shards) shard.destroy()
    this.#source.close()
  }

  #makeWatcher(
    list: SentinelList,
    sentinelFactory: ConnectionFactory,
    connectionName: (kind: ConnectionKind) => string,
    listener: AssemblyListener,
  ): SentinelWatcher {
    const { masters, mapAddress, heartbeatMs } = this.#settings
    return new SentinelWatcher({
      list,
      sentinelFactory,
      masterNames: masters.map((master) => master.name),
      heartbeatMs,
      mapAddress,
      connectionName,
      callbacks: {
        onSwitch: (name, _from, to, sentinel) =>
          this.#byName.get(name)?.trigger({ reason: 'switch-master', hint: to, hintedBy: sentinel }),
        onProgress: (name, phase, candidate, replaces) => this.#followFailover(name, phase, candidate, replaces),
        onRecheck: () => this.#check('watch-gap'),
        onEvent: (event) => {
          if (CONCERNS_REPLICAS.test(event.message) || CONCERNS_REPLICAS.test(event.event)) {
            this.#byName.get(event.masterName)?.refreshReplicas()
          }
          listener.onSentinelEvent(event)
        },
        onState: (event) => listener.onSentinelState(event),
        onError: (error) => listener.onError(error),
      },
    })
  }

  #followFailover(name: string, phase: string, candidate: Address | undefined, replaces: Address | undefined): void {
    const shard = this.#byName.get(name)
    if (shard === undefined) return
    // `selecting` is left alone: Sentinel takes another turn of its clock (100 ms) between that and the selection, and
    // writes need not wait for it; the promotion comes a turn after the selection at the soonest.
    if (phase === 'aborted') shard.failoverOver()
    else if (candidate !== undefined) shard.trigger({ reason: 'failover-progress', candidate, replaces })
    else if (phase === 'promoting') shard.announceFailover()
  }

  /** Asks for every shard at once whether it still is where it was; only one that moved is looked at closer. */
  async #check(reason: 'periodic-check' | 'watch-gap'): Promise<void> {
    if (this.#checking) {
      // What is under way may have been asked before the gap ended: it is no answer to this question.
      this.#checkAgain = reason
      return
    }
    this.#checking = true
    try {
      const { sentinelTimeoutMs } = this.#settings
      const names = this.shards.map((shard) => shard.name)
      const signal = this.#abort.signal
      // Now and then in full: an epoch may have changed twice and the address not at all.
      const brief = reason === 'periodic-check' && ++this.#checks % FULL_EVERY !== 0
      const answers = await this.#source.lookup(names, { signal, timeoutMs: 2 * sentinelTimeoutMs, brief })
      for (const shard of this.shards) {
        const named = answers.get(shard.name)
        if (named === undefined || named instanceof Error) continue
        shard.confirm(named.address, named.configEpoch)
        shard.trigger({ reason, hint: named.address })
        shard.refreshReplicas()
      }
    } catch {
      // Aborted: the pool closes. What nobody could answer is told by the watcher, once per outage.
    } finally {
      this.#checking = false
      const again = this.#checkAgain
      this.#checkAgain = undefined
      if (again !== undefined && !this.#abort.signal.aborted) void this.#check(again)
    }
  }
}

/** So many periodic checks, and one of them asks for more than addresses: what a sentinel tells of a master is long. */
const FULL_EVERY = 6

/** `+slave`, `+slave-reconf-done`, `+sdown slave …`, `-sdown slave …`, `+convert-to-slave`, `+reboot slave …`. */
const CONCERNS_REPLICAS = /\bslave\b/

/** Fine enough for the shortest deadline, coarse enough that an idle pool costs nothing to speak of. */
function tickFor({ commandTimeoutMs, holdWritesMs }: Settings): number {
  const shortest = Math.min(commandTimeoutMs || 5_000, holdWritesMs || 2_000)
  return Math.max(5, Math.min(100, Math.floor(shortest / 20)))
}
