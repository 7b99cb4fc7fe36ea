import type { ShardOutcome } from '../errors.js'
import type { TypeMapping } from '../redis-client.js'
import type { CallOptions } from '../shard/call.js'
import type { Command } from './command.js'
import { mapNumbers, settlePlan } from './execute.js'
import { describe, joinSucceeded, needsPlainNumbers, planCall } from './plan.js'
import type { Router } from './router.js'
import type { CommandMethods, CommandName } from './surface.js'

/** What `pool.settled.mGet(…)` and its kin resolve with: what could be had, and how each shard's part ended. */
export interface SettledReply<T> {
  /**
   * The answers of the shards that answered, joined. Where the command answers with one entry per key (`mGet`), the entries
   * of a failed shard are its error. Undefined when no shard answered.
   */
  readonly reply: (T extends readonly (infer V)[] ? (V | Error)[] : T) | undefined
  /** One entry per shard that was asked. */
  readonly outcomes: readonly ShardOutcome[]
  /** How many of them failed. */
  readonly failed: number
}

/** Every command, resolving with a {@link SettledReply} instead of rejecting when shards fail. */
export type SettledMethods<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => Promise<infer Reply>
    ? (...args: Args) => Promise<SettledReply<Reply>>
    : never
}

/** Commands by name, for `pool.settled`. */
export type SettledCommands<RESP extends 2 | 3, TM extends TypeMapping> = SettledMethods<
  Pick<CommandMethods<RESP, TM>, CommandName>
>

/** Like `run`, but a failed part is an entry of the answer. Bad arguments and keys still reject. */
export async function runSettled(
  router: Router,
  command: Command,
  args: readonly unknown[],
  given: CallOptions | undefined,
): Promise<SettledReply<unknown>> {
  if (command.definition === undefined) {
    const complaint = command.learn(args)
    if (complaint !== undefined) return complaint
  }
  const parser = command.parse(args, router.keyPrefix)
  const gate = router.context.waitUntilOpen(given)
  const options = gate === undefined ? given : await gate
  const call = command.call(parser)
  const plan = planCall(router.map, call)
  const outcomes = await settlePlan(router, plan, call, options)
  const succeeded = outcomes.filter((outcome) => 'reply' in outcome)
  const mapping = router.typeMappingOf(options)
  let reply = succeeded.length === 0 ? undefined : joinSucceeded(plan, succeeded)
  if (needsPlainNumbers(plan) && reply !== undefined) reply = mapNumbers(reply, mapping)
  if (command.transform !== undefined && reply !== undefined) {
    reply = command.transform(reply, parser.preserve, mapping)
  }
  if (plan.join === 'places' && Array.isArray(reply)) {
    for (const outcome of outcomes) {
      if ('error' in outcome) for (const place of outcome.part.places!) reply[place] = outcome.error
    }
  }
  return { reply, outcomes: describe(outcomes), failed: outcomes.length - succeeded.length } as SettledReply<unknown>
}
