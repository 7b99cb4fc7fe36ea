import { type Address, formatAddress, sameAddress } from '../address.js'
import { Deadline, monotonicNow } from '../async/deadline.js'
import { sleep } from '../async/sleep.js'
import { MasterUnreachableError, RoleMismatchError, SentinelsUnreachableError, UnknownMasterError } from '../errors.js'
import type { ConnectionFactory } from '../redis-client.js'
import { type Answer, agree, type Candidate, decide, distinct } from './decide.js'
import type { SentinelList } from './list.js'
import { report, SentinelPanel } from './panel.js'
import { usableReplicas } from './replicas.js'
import { askSelection, doubtMs, selectionGoodMs, UNSEEN } from './selection.js'
import type {
  AttemptRequest,
  FollowRequest,
  LookupRequest,
  MasterSource,
  NamedMaster,
  ResolveRequest,
  VerifiedMaster,
} from './source.js'
import { VerifiedMasters } from './verified.js'
import { connectMaster, followUntilMaster } from './verify.js'

/**
 * What a connection is for; `connectionName` turns it into what CLIENT LIST shows, with the master's name for `data` and for
 * `probe`, which only asks a replica for its ROLE.
 */
export type ConnectionKind = 'sentinel' | 'watch' | 'data' | 'probe'

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
  readonly connectionName: (kind: ConnectionKind, masterName?: string) => string | undefined
  /** An unused connection to a sentinel is closed after so long, in ms. @default 30_000 */
  readonly idleMs?: number
  readonly now?: () => number
}

interface Choice {
  /** Worth proving, best first; never empty. */
  readonly candidates: readonly Candidate[]
  readonly ranked: boolean
}

/**
 * Asks all sentinels at once, decides by `decide.ts`, proves by ROLE. While its sentinel connections are warm, `resolve`
 * costs two round trips: one to the sentinels, one to the data node. Sentinels that disagree cost one more.
 */
export class SentinelResolver implements MasterSource {
  readonly #settings: SentinelResolverSettings
  readonly #now: () => number
  readonly #panel: SentinelPanel
  readonly #verified: VerifiedMasters

  constructor(settings: SentinelResolverSettings) {
    const { list, sentinelFactory, sentinelTimeoutMs, mapAddress, connectionName, now } = settings
    this.#settings = settings
    this.#now = now ?? monotonicNow
    this.#verified = new VerifiedMasters(this.#now)
    this.#panel = new SentinelPanel({
      list,
      factory: sentinelFactory,
      timeoutMs: sentinelTimeoutMs,
      idleMs: settings.idleMs ?? 30_000,
      mapAddress,
      connectionName: connectionName('sentinel'),
      now,
    })
  }

  async resolve(masterName: string, request: ResolveRequest): Promise<VerifiedMaster> {
    const deadline = new Deadline(request.timeoutMs, this.#now)
    const round = await this.#panel.masters([masterName], request, request.hintedBy)
    const { candidates, ranked } = await this.#choose(masterName, round.get(masterName)!, request)
    let failure: Error | undefined
    for (const candidate of candidates) {
      if (candidate.held) {
        const kept = await this.#keepIncumbent(masterName, candidate, deadline, request)
        if (kept !== undefined) return kept
      }
      try {
        const { address, announced, configEpoch, namedBy } = candidate
        const connection = await this.#connect(masterName, { address, announced }, deadline, request)
        this.#verified.proved(masterName, address, configEpoch)
        this.#panel.prefer(namedBy)
        return { address, connection, configEpoch, namedBy: `sentinel ${namedBy}` }
      } catch (error) {
        request.signal.throwIfAborted()
        failure ??= error as Error
        // A later epoch was voted for: its master being away for now makes no older one right.
        if (ranked) break
      }
    }
    throw failure!
  }

  async lookup(masterNames: readonly string[], request: LookupRequest): Promise<Map<string, NamedMaster | Error>> {
    const settled = request.brief === true ? await this.#settled(masterNames, request) : new Map<string, NamedMaster>()
    const open = masterNames.filter((name) => !settled.has(name))
    return open.length === 0 ? settled : new Map([...settled, ...(await this.#lookup(open, request))])
  }

  /** The names of which every sentinel that answers says what is known, where it is known for good. */
  async #settled(masterNames: readonly string[], request: AttemptRequest): Promise<Map<string, NamedMaster>> {
    const round = await this.#panel.masters(masterNames, request, undefined, true)
    const settled = new Map<string, NamedMaster>()
    for (const [name, answers] of round) {
      const known = this.#verified.get(name)
      if (known === undefined || known.followed || !agree(answers, this.#panel.size, known.address)) continue
      settled.set(name, { address: known.address, configEpoch: known.configEpoch, namedBy: 'verified before' })
    }
    request.signal.throwIfAborted()
    return settled
  }

  async #lookup(masterNames: readonly string[], request: AttemptRequest): Promise<Map<string, NamedMaster | Error>> {
    const round = await this.#panel.masters(masterNames, request)
    const found = await Promise.all(
      masterNames.map(async (name): Promise<NamedMaster | Error> => {
        try {
          const { candidates } = await this.#choose(name, round.get(name)!, request)
          const { held, address, configEpoch, namedBy } = candidates[0]!
          if (held) return { address: this.#verified.get(name)!.address, namedBy: 'verified before' }
          return { address, configEpoch, namedBy: `sentinel ${namedBy}` }
        } catch (error) {
          return error as Error
        }
      }),
    )
    request.signal.throwIfAborted()
    return new Map(masterNames.map((name, i) => [name, found[i]!]))
  }

  async followCandidate(masterName: string, candidate: Address, request: FollowRequest): Promise<VerifiedMaster> {
    let wasSlave = false
    let selection = UNSEEN
    const refused = new AbortController()
    const onAbort = () => refused.abort(request.signal.reason)
    request.signal.throwIfAborted()
    request.signal.addEventListener('abort', onAbort, { once: true })
    // A forged message must not lead to a master of someone else, or of yesterday.
    const ask = async () => {
      const knownEpoch = this.#verified.get(masterName)?.configEpoch
      selection = await askSelection(this.#panel, masterName, candidate, knownEpoch, request).catch(() => UNSEEN)
      if (selection.answer === false) refused.abort(notSelected(masterName, candidate))
    }
    const startedAt = this.#now()
    const isLate = () => this.#now() - startedAt > selectionGoodMs
    try {
      // While it is a replica still, so it costs no time.
      const asking = ask()
      const accepts = async () => {
        await asking
        refused.signal.throwIfAborted()
        // One that says master from the first may be the master before, which is not demoted yet: then a sentinel must name it.
        // And after a while it may have become master in another failover than the one it was announced for.
        if (isLate() || !(wasSlave || selection.named)) await ask()
        refused.signal.throwIfAborted()
        const epoch = selection.epoch === undefined ? undefined : selection.epoch + 1
        if (wasSlave || (selection.named && !this.#verified.wasReplaced(masterName, candidate, epoch))) return true
        await sleep(doubtMs, refused.signal)
        return false
      }
      const connection = await followUntilMaster({
        ...this.#proof(masterName, candidate),
        timeoutMs: request.timeoutMs,
        intervalMs: request.intervalMs ?? 5,
        signal: refused.signal,
        onRole: (role) => {
          if (role === 'slave') wasSlave = true
        },
        accepts,
      })
      this.#verified.followed(masterName, candidate, {
        replacedEpoch: selection.epoch,
        // What a sentinel says that names the candidate already is one word among others.
        leaderHeard: selection.epoch !== undefined && !selection.named,
        late: isLate(),
        replaced: request.replaces,
      })
      return { address: candidate, connection, configEpoch: undefined, namedBy: 'selected-slave' }
    } finally {
      request.signal.removeEventListener('abort', onAbort)
    }
  }

  async replicas(masterName: string, request: AttemptRequest): Promise<readonly Address[]> {
    const deadline = new Deadline(request.timeoutMs, this.#now)
    const round = await this.#panel.masters([masterName], request)
    const { candidates } = await this.#choose(masterName, round.get(masterName)!, request)
    const master = candidates[0]!
    // A followed master is not announced yet, and its replicas are still told of as the old one's.
    const address = master.held ? this.#verified.get(masterName)!.address : master.address
    const lists = await this.#panel.replicas(masterName, master.voters.slice(0, 2), request)
    request.signal.throwIfAborted()
    // Sentinels see a replica come back at different moments: one that holds it to be well is enough, as ROLE decides.
    const instances = lists.flatMap((list) => list ?? [])
    return usableReplicas(instances, {
      ...this.#proof(masterName, address),
      connectionName: this.#settings.connectionName('probe', masterName),
      mapAddress: this.#settings.mapAddress,
      timeoutMs: Math.min(deadline.remainingMs, this.#settings.connectTimeoutMs),
      signal: request.signal,
    })
  }

  close(): void {
    this.#panel.close()
  }

  /** The candidates worth proving; throws where there is none. */
  async #choose(masterName: string, answers: readonly Answer[], request: AttemptRequest): Promise<Choice> {
    const incumbent = this.#verified.get(masterName)
    const verdict = decide(answers, this.#panel.size, incumbent)
    if (verdict.kind === 'unreachable') throw new SentinelsUnreachableError(masterName, report(answers))
    if (verdict.kind === 'unknown') throw new UnknownMasterError(masterName, report(answers))
    const { ranked } = verdict
    const candidates: Candidate[] = []
    for (const candidate of verdict.candidates) {
      const isIncumbent = incumbent !== undefined && sameAddress(candidate.address, incumbent.address)
      if (!candidate.needsWitness || isIncumbent || (await this.#hasWitness(masterName, candidate, answers, request))) {
        candidates.push(candidate)
        if (ranked) break
      }
    }
    // Nobody vouches for anybody: two groups share a name, and the latest configuration is the best guess.
    if (candidates.length === 0) candidates.push(verdict.candidates[0]!)
    return { candidates, ranked }
  }

  /** Does a sentinel that answered otherwise list this address as a replica of the group? */
  async #hasWitness(
    masterName: string,
    candidate: Candidate,
    answers: readonly Answer[],
    request: AttemptRequest,
  ): Promise<boolean> {
    const others = distinct(answers).filter((a) => a.address && !candidate.voters.includes(a.id))
    const ids = others.map((a) => a.id)
    const lists = await this.#panel.replicas(masterName, ids, request)
    request.signal.throwIfAborted()
    return lists.some((list) => list?.some((replica) => sameAddress(replica.address, candidate.address)))
  }

  /**
   * The candidate is older than the master we know. Resolves with that master if it still proves to be one, with undefined
   * if it has been demoted; throws while it cannot be asked, because an old word is no ground to move.
   */
  async #keepIncumbent(
    masterName: string,
    candidate: Candidate,
    deadline: Deadline,
    request: AttemptRequest,
  ): Promise<VerifiedMaster | undefined> {
    const { address, configEpoch, followed } = this.#verified.get(masterName)!
    try {
      const connection = await this.#connect(masterName, { address }, deadline, request)
      return { address, connection, configEpoch: followed ? undefined : configEpoch, namedBy: 'verified before' }
    } catch (error) {
      if (error instanceof RoleMismatchError && error.role === 'slave') return undefined
      if (error instanceof MasterUnreachableError) {
        error.message += `; ${candidate.namedBy} still names ${formatAddress(candidate.address)}, which was replaced`
      }
      throw error
    }
  }

  #connect(
    masterName: string,
    node: { readonly address: Address; readonly announced?: Address },
    deadline: Deadline,
    request: AttemptRequest,
  ) {
    const timeoutMs = Math.min(deadline.remainingMs, this.#settings.connectTimeoutMs)
    return connectMaster({ ...this.#proof(masterName, node.address), ...node, timeoutMs, signal: request.signal })
  }

  #proof(masterName: string, address: Address) {
    const { dataFactory, connectionName } = this.#settings
    return { masterName, address, factory: dataFactory, connectionName: connectionName('data', masterName) }
  }
}

function notSelected(masterName: string, candidate: Address): RoleMismatchError {
  return new RoleMismatchError(masterName, candidate, 'selected by no sentinel')
}
