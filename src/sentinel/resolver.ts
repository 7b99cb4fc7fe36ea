import { type Address, formatAddress, sameAddress } from '../address.js'
import { collect } from '../async/collect.js'
import { Deadline, monotonicNow } from '../async/deadline.js'
import { RoleMismatchError, type SentinelAnswer, SentinelsUnreachableError, UnknownMasterError } from '../errors.js'
import { type ConnectionFactory, describeFailure } from '../redis-client.js'
import { SentinelClient } from './client.js'
import { type Answer, type Candidate, decide, distinct, type Incumbent, isSafe } from './decide.js'
import { nameOf, type SentinelEntry, type SentinelList } from './list.js'
import { usableReplicas } from './replicas.js'
import { readInstance, readInstances, readMasterAddress } from './replies.js'
import type {
  AttemptRequest,
  FollowRequest,
  MasterSource,
  NamedMaster,
  ResolveRequest,
  VerifiedMaster,
} from './source.js'
import { connectMaster, followUntilMaster, MasterUnreachableError } from './verify.js'

/** What a connection is for; `connectionName` turns it into what CLIENT LIST shows. */
export type ConnectionKind = 'sentinel' | 'watch' | 'data'

export interface SentinelResolverSettings {
  readonly list: SentinelList
  /** Makes connections to sentinels, with their credentials and TLS. */
  readonly sentinelFactory: ConnectionFactory
  /** Makes connections to data nodes, with theirs. */
  readonly dataFactory: ConnectionFactory
  /** Bound in ms on one sentinel's answer, connecting included. */
  readonly sentinelTimeoutMs: number
  /** Bound in ms on connecting to one data node and its ROLE. */
  readonly connectTimeoutMs: number
  readonly mapAddress: (address: Address) => Address
  readonly connectionName: (kind: ConnectionKind) => string | undefined
  /** An unused connection to a sentinel is closed after so long, in ms. @default 30_000 */
  readonly idleMs?: number
  readonly now?: () => number
}

/** When at least one sentinel has answered, slow ones are overtaken after so long, in ms: the price of a frozen one. */
const settleMs = 60
/** On slow lines all answers are late together: at least so long passes between the first answer and a decision without majority. */
const afterFirstMs = 30
/** Once a majority agrees, the others get so long to name a higher epoch, in ms. */
const graceMs = 8

interface Known {
  readonly address: Address
  readonly configEpoch: number | undefined
  readonly followed: boolean
  readonly since: number
}

/**
 * Asks all sentinels at once, decides by `decide.ts`, proves by ROLE. A `resolve` that runs while its sentinel connections are
 * warm costs two round trips: one to the sentinels, one to the data node.
 */
export class SentinelResolver implements MasterSource {
  readonly #settings: SentinelResolverSettings
  readonly #now: () => number
  readonly #clients = new Map<SentinelEntry, SentinelClient>()
  readonly #verified = new Map<string, Known>()
  readonly #stopListening: () => void
  #closed = false

  constructor(settings: SentinelResolverSettings) {
    this.#settings = settings
    this.#now = settings.now ?? monotonicNow
    this.#stopListening = settings.list.onChange(() => this.#dropGone())
  }

  async resolve(masterName: string, request: ResolveRequest): Promise<VerifiedMaster> {
    const deadline = new Deadline(request.timeoutMs, this.#now)
    const round = await this.#ask([masterName], request, request.hintedBy)
    const candidates = await this.#choose(masterName, round.get(masterName)!, request)
    let failure: Error | undefined
    for (const candidate of candidates.list) {
      if (candidate.held) {
        const kept = await this.#keepIncumbent(masterName, candidate, deadline, request)
        if (kept !== undefined) return kept
      }
      try {
        return await this.#prove(masterName, candidate, deadline, request)
      } catch (error) {
        request.signal.throwIfAborted()
        failure ??= error as Error
        // A later epoch was voted for: its master being away for now makes no older one right.
        if (candidates.ranked) break
      }
    }
    throw failure!
  }

  async lookup(masterNames: readonly string[], request: AttemptRequest): Promise<Map<string, NamedMaster | Error>> {
    const round = await this.#ask(masterNames, request)
    const found = new Map<string, NamedMaster | Error>()
    await Promise.all(
      masterNames.map(async (name) => {
        try {
          const { list } = await this.#choose(name, round.get(name)!, request)
          const candidate = list[0]!
          const kept = candidate.held ? this.#verified.get(name) : undefined
          found.set(name, kept ? { address: kept.address, namedBy: 'verified before' } : named(candidate))
        } catch (error) {
          found.set(name, error as Error)
        }
      }),
    )
    request.signal.throwIfAborted()
    return found
  }

  async followCandidate(masterName: string, candidate: Address, request: FollowRequest): Promise<VerifiedMaster> {
    const connection = await followUntilMaster({
      ...this.#proof(masterName, candidate),
      timeoutMs: request.timeoutMs,
      intervalMs: request.intervalMs ?? 5,
      signal: request.signal,
    })
    const before = this.#verified.get(masterName)
    if (before === undefined || !sameAddress(before.address, candidate)) {
      const configEpoch = before?.configEpoch === undefined ? undefined : Math.floor(before.configEpoch) + 0.5
      this.#verified.set(masterName, { address: candidate, configEpoch, followed: true, since: this.#now() })
    }
    return { address: candidate, connection, configEpoch: undefined, namedBy: 'selected-slave' }
  }

  async replicas(masterName: string, request: AttemptRequest): Promise<readonly Address[]> {
    const deadline = new Deadline(request.timeoutMs, this.#now)
    const round = await this.#ask([masterName], request)
    const { list } = await this.#choose(masterName, round.get(masterName)!, request)
    const master = list[0]!
    const voters = this.#settings.list.entries().filter((e) => master.voters.includes(idOf(e)))
    for (const entry of voters) {
      const reply = await this.#askOne(entry, [['SENTINEL', 'REPLICAS', masterName]], request).catch(() => [])
      const instances = readInstances(reply[0])
      if (instances === undefined) continue
      return usableReplicas(instances, {
        ...this.#proof(masterName, master.address),
        mapAddress: this.#settings.mapAddress,
        timeoutMs: Math.min(deadline.remainingMs, this.#settings.connectTimeoutMs),
        signal: request.signal,
      })
    }
    request.signal.throwIfAborted()
    return []
  }

  close(): void {
    this.#closed = true
    this.#stopListening()
    for (const client of this.#clients.values()) client.close()
    this.#clients.clear()
  }

  /** Everybody's answers for all names, or as many as it pays to wait for. */
  async #ask(
    masterNames: readonly string[],
    request: AttemptRequest,
    first?: Address,
  ): Promise<Map<string, readonly Answer[]>> {
    if (this.#closed) throw new Error('the resolver is closed')
    const { list, sentinelTimeoutMs } = this.#settings
    const entries = list.entries(first)
    const clients = entries.map((entry) => this.#client(entry))
    // One that failed a moment ago is not knocked at again by every shard, unless there is nobody else.
    const allCooling = clients.every((client) => client.cooling !== undefined)
    const commands = masterNames.flatMap((name) => [
      ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name],
      ['SENTINEL', 'MASTER', name],
    ])
    const parties = clients.map(async (client): Promise<readonly Answer[]> => {
      try {
        if (!allCooling && client.cooling !== undefined) throw client.cooling
        const timeoutMs = Math.min(sentinelTimeoutMs, request.timeoutMs)
        const replies = await client.ask(commands, { timeoutMs, signal: request.signal })
        return masterNames.map((_, i) => this.#read(client.entry, replies[i * 2], replies[i * 2 + 1]))
      } catch (error) {
        return masterNames.map(() => ({ ...who(client.entry), address: undefined, error: describeFailure(error) }))
      }
    })
    const awaited = first === undefined ? undefined : entries.find((e) => sameAddress(e.address, first))
    const rows = await collect({
      parties,
      isAnswer: (row) => row.some((answer) => answer.address !== undefined),
      isEnough: (results) =>
        masterNames.every((_, i) =>
          isSafe(
            results.map((row) => row[i]!),
            list.size,
            awaited && nameOf(awaited),
          ),
        ),
      settleMs,
      afterFirstMs,
      graceMs,
      signal: request.signal,
      now: this.#now,
    })
    return new Map(
      masterNames.map((name, i) => [
        name,
        this.#complete(
          entries,
          rows.map((row) => row[i]!),
        ),
      ]),
    )
  }

  #read(entry: SentinelEntry, addressReply: unknown, masterReply: unknown): Answer {
    if (addressReply instanceof Error) {
      return { ...who(entry), address: undefined, error: describeFailure(addressReply) }
    }
    const raw = readMasterAddress(addressReply)
    if (raw === undefined) return { ...who(entry), address: undefined, error: 'the answer makes no sense' }
    if (raw === null) return { ...who(entry), address: null }
    return {
      ...who(entry),
      address: this.#settings.mapAddress(raw),
      configEpoch: readInstance(masterReply)?.configEpoch,
    }
  }

  /** Adds a line for each sentinel that was overtaken, so that errors tell of all. */
  #complete(entries: readonly SentinelEntry[], answers: readonly Answer[]): readonly Answer[] {
    const missing = entries.filter((entry) => !answers.some((a) => a.sentinel === nameOf(entry)))
    return [...answers, ...missing.map((e) => ({ ...who(e), address: undefined, error: 'timeout' }))]
  }

  /** The candidates worth proving, best first; throws where there is none. */
  async #choose(
    masterName: string,
    answers: readonly Answer[],
    request: AttemptRequest,
  ): Promise<{ readonly list: readonly Candidate[]; readonly ranked: boolean }> {
    const known = this.#verified.get(masterName)
    const verdict = decide(answers, this.#settings.list.size, known && this.#incumbent(known))
    if (verdict.kind === 'unreachable') throw new SentinelsUnreachableError(masterName, report(answers))
    if (verdict.kind === 'unknown') throw new UnknownMasterError(masterName, report(answers))
    const list: Candidate[] = []
    for (const candidate of verdict.candidates) {
      const isKnown = known !== undefined && sameAddress(candidate.address, known.address)
      if (!candidate.needsWitness || isKnown || (await this.#hasWitness(masterName, candidate, answers, request))) {
        list.push(candidate)
      }
      if (verdict.ranked && list.length > 0) break
    }
    // Nobody vouches for anybody: two groups share a name. Stay, or at the start take the latest configuration.
    if (list.length === 0) list.push(...verdict.candidates.slice(0, 1))
    return { list, ranked: verdict.ranked }
  }

  /** Does a sentinel that answered otherwise list this address as a replica of the group? */
  async #hasWitness(
    masterName: string,
    candidate: Candidate,
    answers: readonly Answer[],
    request: AttemptRequest,
  ): Promise<boolean> {
    const others = distinct(answers).filter((a) => a.address && !candidate.voters.includes(a.id))
    const entries = this.#settings.list.entries().filter((e) => others.some((a) => a.id === idOf(e)))
    const lists = await Promise.all(
      entries.map((entry) => this.#askOne(entry, [['SENTINEL', 'REPLICAS', masterName]], request).catch(() => [])),
    )
    request.signal.throwIfAborted()
    return lists.some((replies) =>
      readInstances(replies[0])?.some((i) => sameAddress(this.#settings.mapAddress(i.address), candidate.address)),
    )
  }

  /**
   * The candidate is older than the master we know. Resolves with that master if it still proves to be one, with undefined
   * if it has been demoted; throws while it cannot be asked, because an old word is no ground to move.
   */
  async #keepIncumbent(
    masterName: string,
    candidate: Candidate,
    deadline: Deadline,
    request: ResolveRequest,
  ): Promise<VerifiedMaster | undefined> {
    const known = this.#verified.get(masterName)!
    try {
      const connection = await connectMaster({
        ...this.#proof(masterName, known.address),
        timeoutMs: Math.min(deadline.remainingMs, this.#settings.connectTimeoutMs),
        signal: request.signal,
      })
      const configEpoch = known.followed ? undefined : known.configEpoch
      return { address: known.address, connection, configEpoch, namedBy: 'verified before' }
    } catch (error) {
      if (error instanceof RoleMismatchError && error.role === 'slave') return undefined
      if (error instanceof MasterUnreachableError) {
        error.message += `; ${candidate.namedBy} still names ${formatAddress(candidate.address)}, which was replaced`
      }
      throw error
    }
  }

  async #prove(
    masterName: string,
    candidate: Candidate,
    deadline: Deadline,
    request: ResolveRequest,
  ): Promise<VerifiedMaster> {
    const connection = await connectMaster({
      ...this.#proof(masterName, candidate.address),
      timeoutMs: Math.min(deadline.remainingMs, this.#settings.connectTimeoutMs),
      signal: request.signal,
    })
    this.#remember(masterName, candidate)
    return { ...named(candidate), configEpoch: candidate.configEpoch, connection }
  }

  #remember(masterName: string, { address, configEpoch, namedBy }: Candidate): void {
    const before = this.#verified.get(masterName)
    const same = before !== undefined && sameAddress(before.address, address)
    const since = same && (before.configEpoch === configEpoch || before.followed) ? before.since : this.#now()
    // While a followed master is not announced yet, a sentinel's older epoch is not its epoch.
    const followed = same && before.followed && configEpoch === undefined
    this.#verified.set(masterName, { address, configEpoch, followed, since })
    const entry = this.#settings.list.entries().find((e) => nameOf(e) === namedBy)
    if (entry !== undefined) this.#settings.list.prefer(entry)
  }

  #incumbent(known: Known): Incumbent {
    return { ...known, ageMs: this.#now() - known.since }
  }

  #proof(masterName: string, address: Address) {
    const { dataFactory, connectionName } = this.#settings
    return { masterName, address, factory: dataFactory, connectionName: connectionName('data') }
  }

  #askOne(entry: SentinelEntry, commands: readonly (readonly string[])[], request: AttemptRequest) {
    const timeoutMs = Math.min(this.#settings.sentinelTimeoutMs, request.timeoutMs)
    return this.#client(entry).ask(commands, { timeoutMs, signal: request.signal })
  }

  #client(entry: SentinelEntry): SentinelClient {
    let client = this.#clients.get(entry)
    if (client === undefined) {
      const { list, sentinelFactory, sentinelTimeoutMs, idleMs, connectionName } = this.#settings
      client = new SentinelClient({
        entry,
        list,
        factory: sentinelFactory,
        openTimeoutMs: sentinelTimeoutMs,
        idleMs: idleMs ?? 30_000,
        name: connectionName('sentinel'),
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

function idOf(entry: SentinelEntry): string {
  return entry.runId ?? nameOf(entry)
}

function who(entry: SentinelEntry): { sentinel: string; id: string } {
  return { sentinel: nameOf(entry), id: idOf(entry) }
}

function named({ address, configEpoch, namedBy }: Candidate): NamedMaster {
  return { address, configEpoch, namedBy: `sentinel ${namedBy}` }
}

function report(answers: readonly Answer[]): SentinelAnswer[] {
  return answers.map(({ sentinel, address, error }) => ({
    sentinel,
    ...(error === undefined ? { address: address ? formatAddress(address) : null } : { error }),
  }))
}
