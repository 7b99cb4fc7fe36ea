import type { Address } from '../address.js'
import { UnknownMasterError } from '../errors.js'
import type { ConnectionFactory } from '../redis-client.js'
import type { AttemptRequest, FollowRequest, MasterSource, NamedMaster, VerifiedMaster } from './source.js'
import { connectMaster, followUntilMaster } from './verify.js'

export interface StaticSourceSettings {
  /** Master name -> where it is, mapped. */
  readonly addresses: ReadonlyMap<string, Address>
  readonly dataFactory: ConnectionFactory
  /** Bound on connecting and ROLE, in ms. */
  readonly connectTimeoutMs: number
  readonly connectionName: (kind: 'data', masterName: string) => string | undefined
}

/** Masters at fixed addresses, without sentinels. ROLE is asked all the same: a demoted master gets no writes. */
export class StaticSource implements MasterSource {
  readonly #settings: StaticSourceSettings

  constructor(settings: StaticSourceSettings) {
    this.#settings = settings
  }

  async resolve(masterName: string, request: AttemptRequest): Promise<VerifiedMaster> {
    const { address, namedBy } = this.#named(masterName)
    const { connectTimeoutMs } = this.#settings
    const connection = await connectMaster({
      ...this.#proof(masterName, address),
      timeoutMs: Math.min(request.timeoutMs, connectTimeoutMs),
      signal: request.signal,
    })
    return { address, connection, configEpoch: undefined, namedBy }
  }

  async lookup(masterNames: readonly string[], request: AttemptRequest): Promise<Map<string, NamedMaster | Error>> {
    request.signal.throwIfAborted()
    const entries = masterNames.map((name): [string, NamedMaster | Error] => {
      const address = this.#settings.addresses.get(name)
      return [name, address ? { address, namedBy: 'static' } : new UnknownMasterError(name, [])]
    })
    return new Map(entries)
  }

  async followCandidate(masterName: string, candidate: Address, request: FollowRequest): Promise<VerifiedMaster> {
    const connection = await followUntilMaster({
      ...this.#proof(masterName, candidate),
      timeoutMs: request.timeoutMs,
      intervalMs: request.intervalMs ?? 5,
      signal: request.signal,
    })
    return { address: candidate, connection, configEpoch: undefined, namedBy: 'selected-slave' }
  }

  async replicas(): Promise<readonly Address[]> {
    return []
  }

  close(): void {}

  #named(masterName: string): NamedMaster {
    const address = this.#settings.addresses.get(masterName)
    if (address === undefined) throw new UnknownMasterError(masterName, [])
    return { address, namedBy: 'static' }
  }

  #proof(masterName: string, address: Address) {
    const { dataFactory, connectionName } = this.#settings
    return { masterName, address, factory: dataFactory, connectionName: connectionName('data', masterName) }
  }
}
