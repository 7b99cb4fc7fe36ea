/**
 * Why a `LocalTopology` could not do what was asked of it. Stable within a major version; the sentence is not.
 *
 * - `'REDIS_SERVER_MISSING'` / `'OPENSSL_MISSING'`: a program is not installed; the message says how to install it.
 * - `'START_FAILED'`: a server ended before it answered; the message ends with its log.
 * - `'WAIT_TIMEOUT'`: a state was not reached in time; the message has the last state seen and the servers' logs.
 * - `'COMMAND_TIMEOUT'`: a server gave no answer, as a frozen one does not.
 * - `'NOT_CONNECTED'`: a server could not be reached, or the connection went away before the answer.
 * - `'ERROR_REPLY'`: the server answered with an error; the message is that reply.
 * - `'CLOSED'`: the topology, or the node, is closed.
 */
export type TopologyErrorCode =
  | 'REDIS_SERVER_MISSING'
  | 'OPENSSL_MISSING'
  | 'START_FAILED'
  | 'WAIT_TIMEOUT'
  | 'COMMAND_TIMEOUT'
  | 'NOT_CONNECTED'
  | 'ERROR_REPLY'
  | 'CLOSED'

/** The one error class of `sharded-sentinel-pool/testing`. Wrong options throw `InvalidOptionsError` instead. */
export class TopologyError extends Error {
  readonly code: TopologyErrorCode

  constructor(code: TopologyErrorCode, message: string, settings?: { cause?: unknown }) {
    super(message, settings?.cause === undefined ? undefined : { cause: settings.cause })
    this.name = 'TopologyError'
    this.code = code
  }
}
