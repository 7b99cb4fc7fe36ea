import type { Address } from '../../src/address.js'
import type { MasterSource, VerifiedMaster } from '../../src/sentinel/index.js'
import { StubConnection } from './stub-connection.js'

export interface Question {
  readonly kind: 'resolve' | 'follow'
  readonly candidate: Address | undefined
  readonly hint: Address | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  found(address: Address, connection?: StubConnection): StubConnection
  failed(error?: Error): void
}

/** A source that answers when the test says so. */
export class StubSource {
  readonly questions: Question[] = []
  closed = false

  get asSource(): MasterSource {
    return this as unknown as MasterSource
  }

  get last(): Question {
    return this.questions.at(-1)!
  }

  resolve(_: string, request: { hint?: Address; timeoutMs: number; signal: AbortSignal }): Promise<VerifiedMaster> {
    return this.#ask('resolve', undefined, request)
  }

  followCandidate(_: string, candidate: Address, request: { timeoutMs: number; signal: AbortSignal }) {
    return this.#ask('follow', candidate, request)
  }

  replicas(): Promise<readonly Address[]> {
    return Promise.resolve([])
  }

  close(): void {
    this.closed = true
  }

  #ask(
    kind: Question['kind'],
    candidate: Address | undefined,
    request: { hint?: Address; timeoutMs: number; signal: AbortSignal },
  ): Promise<VerifiedMaster> {
    const { signal, timeoutMs, hint } = request
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      this.questions.push({
        kind,
        candidate,
        hint,
        timeoutMs,
        signal,
        found: (address, connection = new StubConnection(undefined, address)) => {
          resolve({ address, connection: connection.asConnection, configEpoch: 1, namedBy: 'test' })
          return connection
        },
        failed: (error = new Error('nobody knows')) => reject(error),
      })
    })
  }
}
