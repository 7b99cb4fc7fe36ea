import { type Address, formatAddress, sameAddress } from '../address.js'
import { collect } from '../async/collect.js'
import { monotonicNow } from '../async/deadline.js'
import type { SentinelAnswer } from '../errors.js'
import { type ConnectionFactory, describeFailure } from '../redis-client.js'
import { SentinelClient } from './client.js'
import { type Answer, isSafe } from './decide.js'
import { nameOf, type SentinelEntry, type SentinelList } from './list.js'
import { type InstanceInfo, readInstance, readInstances, readMasterAddress } from './replies.js'
import type { AttemptRequest } from './source.js'

export interface SentinelPanelSettings {
  readonly list: SentinelList
  /** Makes connections to sentinels, with their credentials and TLS. */
  readonly factory: ConnectionFactory
  /** Bound in ms on one sentinel's answer, connecting included. */
  readonly timeoutMs: number
  /** An unused connection is closed after so long, in ms. */
  readonly idleMs: number
  readonly mapAddress: (address: Address) => Address
  readonly connectionName: string | undefined
  readonly now?: (() => number) | undefined
}

/** When at least one sentinel has answered, slow ones are overtaken after so long, in ms: the price of a frozen one. */
const settleMs = 60
/** On slow lines all answers are late together: at least so long passes between the first answer and a decision without majority. */
const afterFirstMs = 30
/** Once a majority agrees, the others get so long to name a higher epoch, in ms. */
const graceMs = 8

/** What is seen of one failover by one sentinel; undefined where it could not be asked or its ACL hides it. */
export interface FailoverView {
  readonly named: Address | undefined
  readonly inProgress: boolean | undefined
  /** Of the configuration before the failover; of the new one once it names the new master. */
  readonly configEpoch: number | undefined
  readonly replicas: readonly Address[] | undefined
}

/**
 * All sentinels, asked as one: in parallel, each over one kept connection, none waited for longer than it pays. Reads and
 * maps what they say; decides nothing.
 */
export class SentinelPanel {
  readonly #settings: SentinelPanelSettings
  readonly #clients = new Map<SentinelEntry, SentinelClient>()
  readonly #now: () => number
  readonly #stopListening: () => void
  #closed = false

  constructor(settings: SentinelPanelSettings) {
    this.#settings = settings
    this.#now = settings.now ?? monotonicNow
    this.#stopListening = settings.list.onChange(() => this.#dropGone())
  }

  /** Number of distinct sentinels, reachable or not. */
  get size(): number {
    return this.#settings.list.size
  }

  /**
   * Everybody's answers for all names, or as many as it pays to wait for; one line per sentinel, also for those that failed
   * or were overtaken. `announcer` is waited for before a majority counts. With `addressesOnly` no epoch
   * is asked for. Rejects on abort only.
   */
  async masters(
    masterNames: readonly string[],
    request: AttemptRequest,
    announcer?: Address,
    addressesOnly = false,
  ): Promise<ReadonlyMap<string, readonly Answer[]>> {
    const entries = this.#settings.list.entries(announcer)
    const awaited = announcer && entries.find((entry) => sameAddress(entry.address, announcer))
    const address = (name: string) => ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]
    const master = (name: string) => ['SENTINEL', 'MASTER', name]
    const commands = masterNames.map(address)
    if (!addressesOnly) commands.push(...masterNames.map(master))
    const rows = await collect({
      parties: this.#awake(entries).map(async ([entry, refused]): Promise<readonly Answer[]> => {
        try {
          if (refused !== undefined) throw refused
          const replies = await this.#ask(entry, commands, request)
          return masterNames.map((_, i) => this.#readAnswer(entry, replies[i], replies[masterNames.length + i]))
        } catch (error) {
          return masterNames.map(() => ({ ...who(entry), address: undefined, error: describeFailure(error) }))
        }
      }),
      isAnswer: (row) => row.some((answer) => answer.address !== undefined),
      isEnough: (results) =>
        masterNames.every((_, i) =>
          isSafe(
            results.map((row) => row[i]!),
            this.size,
            awaited && nameOf(awaited),
          ),
        ),
      settleMs,
      afterFirstMs,
      graceMs,
      signal: request.signal,
      now: this.#now,
    })
    const heard = new Set(rows.map((row) => row[0]?.sentinel))
    const overtaken = entries
      .filter((entry) => !heard.has(nameOf(entry)))
      .map((entry): Answer => ({ ...who(entry), address: undefined, error: 'timeout' }))
    return new Map(masterNames.map((name, i) => [name, [...rows.map((row) => row[i]!), ...overtaken]]))
  }

  /** The replicas of a master, as the sentinels with these ids see them; undefined for one that does not say. */
  replicas(
    masterName: string,
    ids: readonly string[],
    request: AttemptRequest,
  ): Promise<readonly (readonly InstanceInfo[] | undefined)[]> {
    const entries = this.#settings.list.entries().filter((entry) => ids.includes(idOf(entry)))
    return Promise.all(
      entries.map(async (entry) => {
        const [reply] = await this.#ask(entry, [['SENTINEL', 'REPLICAS', masterName]], request).catch(() => [])
        return readInstances(reply)?.map((info) => ({ ...info, address: this.#settings.mapAddress(info.address) }))
      }),
    )
  }

  /**
   * How the sentinels see a failover. Ends with the first view that `convinces`, else with all; `complete` says whether each
   * of them gave one.
   */
  async failover(
    masterName: string,
    convinces: (view: FailoverView) => boolean,
    request: AttemptRequest,
  ): Promise<{ readonly views: readonly FailoverView[]; readonly complete: boolean }> {
    const { list, mapAddress, timeoutMs } = this.#settings
    const commands = [
      ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName],
      ['SENTINEL', 'MASTER', masterName],
      ['SENTINEL', 'REPLICAS', masterName],
    ]
    const entries = list.entries()
    const results = await collect({
      parties: entries.map(async (entry): Promise<FailoverView> => {
        const replies = await this.#ask(entry, commands, request).catch(() => [])
        const named = readMasterAddress(replies[0])
        const master = readInstance(replies[1])
        const inProgress = master?.flags.has('failover_in_progress')
        // Only while a failover goes on does a sentinel have two words for who is the master.
        const contradicts = named && master && inProgress === false && !sameAddress(named, master.address)
        return {
          named: named && !contradicts ? mapAddress(named) : undefined,
          inProgress,
          configEpoch: master?.configEpoch,
          replicas: readInstances(replies[2])?.map((info) => mapAddress(info.address)),
        }
      }),
      isAnswer: isWhole,
      isEnough: (views) => views.some(convinces),
      graceMs: 0,
      settleMs: timeoutMs,
      afterFirstMs: 0,
      signal: request.signal,
      now: this.#now,
    })
    return { views: results, complete: results.length === entries.length && results.every(isWhole) }
  }

  /** Its answer proved right: it is asked first from now on. `sentinel` is the name in its answer. */
  prefer(sentinel: string): void {
    const entry = this.#settings.list.entries().find((e) => nameOf(e) === sentinel)
    if (entry !== undefined) this.#settings.list.prefer(entry)
  }

  /** Closes every connection; what is being asked ends as unanswered. Idempotent. */
  close(): void {
    this.#closed = true
    this.#stopListening()
    for (const client of this.#clients.values()) client.close()
    this.#clients.clear()
  }

  /** One that failed a moment ago is not knocked at again by every shard, unless there is nobody else. */
  #awake(entries: readonly SentinelEntry[]): readonly (readonly [SentinelEntry, Error | undefined])[] {
    const refusals = entries.map((entry) => this.#clients.get(entry)?.cooling)
    const nobody = refusals.every((refusal) => refusal !== undefined)
    return entries.map((entry, i) => [entry, nobody ? undefined : refusals[i]])
  }

  /** Async, so that a panel that is closed meanwhile is a rejection like any other. */
  async #ask(entry: SentinelEntry, commands: readonly (readonly string[])[], { timeoutMs, signal }: AttemptRequest) {
    return this.#client(entry).ask(commands, { timeoutMs: Math.min(this.#settings.timeoutMs, timeoutMs), signal })
  }

  #readAnswer(entry: SentinelEntry, addressReply: unknown, masterReply: unknown): Answer {
    const failed = (error: string): Answer => ({ ...who(entry), address: undefined, error })
    if (addressReply instanceof Error) return failed(describeFailure(addressReply))
    const raw = readMasterAddress(addressReply)
    if (raw === undefined) return failed('the answer makes no sense')
    if (raw === null) return { ...who(entry), address: null }
    const configEpoch = readInstance(masterReply)?.configEpoch
    return { ...who(entry), address: this.#settings.mapAddress(raw), announced: raw, configEpoch }
  }

  #client(entry: SentinelEntry): SentinelClient {
    if (this.#closed) throw new Error('closed')
    let client = this.#clients.get(entry)
    if (client === undefined) {
      const { list, factory, timeoutMs, idleMs, connectionName } = this.#settings
      client = new SentinelClient({
        entry,
        list,
        factory,
        openTimeoutMs: timeoutMs,
        idleMs,
        name: connectionName,
        now: this.#now,
      })
      this.#clients.set(entry, client)
    }
    return client
  }

  #dropGone(): void {
    for (const [entry, client] of this.#clients) {
      if (this.#settings.list.has(entry)) continue
      this.#clients.delete(entry)
      client.close()
    }
  }
}

function isWhole(view: FailoverView): boolean {
  return view.inProgress !== undefined && view.replicas !== undefined
}

function idOf(entry: SentinelEntry): string {
  return entry.runId ?? nameOf(entry)
}

function who(entry: SentinelEntry): { sentinel: string; id: string } {
  return { sentinel: nameOf(entry), id: idOf(entry) }
}

/** What each of them said, for an error. */
export function report(answers: readonly Answer[]): SentinelAnswer[] {
  return answers.map(({ sentinel, address, error }) => ({
    sentinel,
    ...(error === undefined ? { address: address ? formatAddress(address) : null } : { error }),
  }))
}
