import type { TypeMapping } from '../redis-client.js'
import type { TransformReply } from './definitions.js'
import type { Call } from './plan.js'

/** One command of a transaction or a pipeline, and what becomes of its reply. */
export class QueuedCommand {
  readonly call: Call
  readonly #transform: TransformReply | undefined
  readonly #preserve: unknown
  readonly #typeMapping: TypeMapping | undefined

  constructor(
    call: Call,
    transform: TransformReply | undefined,
    preserve: unknown,
    typeMapping: TypeMapping | undefined,
  ) {
    this.call = call
    this.#transform = transform
    this.#preserve = preserve
    this.#typeMapping = typeMapping
  }

  transform(reply: unknown): unknown {
    return this.#transform === undefined ? reply : this.#transform(reply, this.#preserve, this.#typeMapping)
  }
}
