import { type Address, isPort } from '../address.js'
import { bounded, Deadline } from '../async/deadline.js'
import { UnknownMasterError } from '../errors.js'
import { type ConnectionFactory, describeFailure } from '../redis-client.js'
import type { AttemptRequest, FollowRequest, MasterSource, NamedMaster, VerifiedMaster } from './source.js'
import { connectMaster, followUntilMaster } from './verify.js'

/** Where a resolver says a master is. `epoch` grows with each change, where the resolver has such a count. */
export interface ResolvedAddress {
  readonly address: Address
  readonly epoch?: number | undefined
}

/**
 * A user's own discovery in place of sentinels: Consul, DNS, a virtual IP. The pool still asks ROLE before it uses an
 * address, still watches its connections, and asks again every `pollIntervalMs`.
 */
export interface Resolver {
  /**
   * Where is the master of this name now? `null` or `undefined` when there is no such name. May be called at any time, for
   * several names at once, and again while an earlier call is under way; rejecting means "ask again later". `signal` aborts
   * when nobody waits for the answer any more.
   */
  resolve(
    masterName: string,
    options: { readonly signal: AbortSignal },
  ): Promise<Address | ResolvedAddress | null | undefined> | Address | ResolvedAddress | null | undefined
  /** Tells of changes: call `onChange` with a name whose master may have moved. Returns what stops it. */
  watch?(
    masterNames: readonly string[],
    onChange: (masterName: string) => void,
  ): (() => void) | Promise<() => void> | void
  /** The pool has closed and will not ask again. */
  close?(): void | Promise<void>
}

export interface CustomSourceSettings {
  readonly resolver: Resolver
  readonly dataFactory: ConnectionFactory
  /** Bound on connecting and ROLE, in ms. */
  readonly connectTimeoutMs: number
  readonly mapAddress: (address: Address) => Address
  readonly connectionName: (kind: 'data', masterName: string) => string | undefined
  /** What the resolver's `watch` or `close` threw: one report each. */
  readonly onError?: (error: Error) => void
}

/** Wraps a user's `Resolver`. A resolver that throws, hangs or answers nonsense costs its attempt, never more. */
export class CustomSource implements MasterSource {
  readonly #settings: CustomSourceSettings
  #closed = false

  constructor(settings: CustomSourceSettings) {
    this.#settings = settings
  }

  async resolve(masterName: string, request: AttemptRequest): Promise<VerifiedMaster> {
    const { connectTimeoutMs, dataFactory, connectionName } = this.#settings
    const deadline = new Deadline(request.timeoutMs)
    const { address, configEpoch, namedBy, announced } = await this.#name(masterName, request)
    const connection = await connectMaster({
      masterName,
      address,
      announced,
      factory: dataFactory,
      connectionName: connectionName('data', masterName),
      timeoutMs: Math.min(deadline.remainingMs, connectTimeoutMs),
      signal: request.signal,
    })
    return { address, connection, configEpoch, namedBy }
  }

  async lookup(masterNames: readonly string[], request: AttemptRequest): Promise<Map<string, NamedMaster | Error>> {
    const found = await Promise.all(
      masterNames.map((name) => this.#name(name, request).catch((error: unknown) => error as Error)),
    )
    request.signal.throwIfAborted()
    return new Map(masterNames.map((name, i) => [name, found[i]!]))
  }

  async followCandidate(masterName: string, candidate: Address, request: FollowRequest): Promise<VerifiedMaster> {
    const connection = await followUntilMaster({
      masterName,
      address: candidate,
      factory: this.#settings.dataFactory,
      connectionName: this.#settings.connectionName('data', masterName),
      timeoutMs: request.timeoutMs,
      intervalMs: request.intervalMs ?? 5,
      signal: request.signal,
    })
    return { address: candidate, connection, configEpoch: undefined, namedBy: 'selected-slave' }
  }

  async replicas(): Promise<readonly Address[]> {
    return []
  }

  /** Starts the resolver's own watch, if it has one. Returns what stops it; never throws. */
  watch(masterNames: readonly string[], onChange: (masterName: string) => void): () => void {
    const { resolver } = this.#settings
    let stopped = false
    let stop: (() => void) | undefined
    const names = new Set(masterNames)
    const report = (error: unknown) => this.#report('watch', error)
    const halt = () => {
      try {
        stop?.()
      } catch (error) {
        report(error)
      }
      stop = undefined
    }
    Promise.resolve()
      .then(() =>
        stopped
          ? undefined
          : resolver.watch?.([...masterNames], (name) => {
              if (!stopped && names.has(name)) onChange(name)
            }),
      )
      .then((unwatch) => {
        stop = typeof unwatch === 'function' ? unwatch : undefined
        if (stopped) halt()
      })
      .catch(report)
    return () => {
      stopped = true
      halt()
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    Promise.resolve()
      .then(() => this.#settings.resolver.close?.())
      .catch((error: unknown) => this.#report('close', error))
  }

  async #name(
    masterName: string,
    request: AttemptRequest,
  ): Promise<NamedMaster & { announced: Address; configEpoch: number | undefined }> {
    request.signal.throwIfAborted()
    const abort = new AbortController()
    const onAbort = () => abort.abort(request.signal.reason)
    request.signal.addEventListener('abort', onAbort, { once: true })
    try {
      const answer = await bounded(
        Promise.resolve().then(() => this.#settings.resolver.resolve(masterName, { signal: abort.signal })),
        {
          timeoutMs: request.timeoutMs,
          signal: request.signal,
          onTimeout: () => new Error(`the resolver gave no answer for '${masterName}' within ${request.timeoutMs} ms`),
        },
      )
      if (answer === null || answer === undefined) {
        throw new UnknownMasterError(masterName, [{ sentinel: 'resolver', address: null }])
      }
      const { address, epoch } = 'address' in answer ? answer : { address: answer, epoch: undefined }
      if (typeof address?.host !== 'string' || address.host === '' || !isPort(address.port)) {
        throw new Error(`the resolver's answer for '${masterName}' is no address: it needs host and port`)
      }
      return {
        address: this.#settings.mapAddress(address),
        announced: address,
        configEpoch: epoch,
        namedBy: 'resolver',
      }
    } finally {
      request.signal.removeEventListener('abort', onAbort)
      // Nobody waits any more, whichever way it ended.
      abort.abort(new Error('the attempt has ended'))
    }
  }

  #report(action: string, error: unknown): void {
    this.#settings.onError?.(new Error(`the resolver's ${action} failed: ${describeFailure(error)}`, { cause: error }))
  }
}
