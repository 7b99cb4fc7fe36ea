import type { Call } from './plan.js'

/** One command of a transaction or a pipeline, and what becomes of its reply. */
export interface QueuedCommand {
  readonly call: Call
  transform(reply: unknown): unknown
}
