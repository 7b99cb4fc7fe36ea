import { assertEncodable, type TypeMapping } from '../redis-client.js'
import type { CallOptions, CommandProfile } from '../shard/call.js'
import { carryOnLease, mayBlock } from './blocking.js'
import { askAnyone, carry } from './carry.js'
import { type Call, joinPlan, needsPlainNumbers, type Part, type PartOutcome, type Plan, planCall } from './plan.js'
import type { Router } from './router.js'
import { scanOnce } from './scan-cursor.js'
import { isNoScript, withText } from './script-texts.js'

/** Any call that is not one key on the shared connection: planned, every part sent at once, joined when all have ended. */
export async function execute(router: Router, call: Call, options: CallOptions | undefined): Promise<unknown> {
  if (call.route.kind === 'scan') return scanOnce(router, call, options)
  if (call.route.kind === 'any') return askAnyone(router.shards, call.words, call.profile, options)
  const plan = planCall(router.map, call)
  const reply = joinPlan(plan, await settlePlan(router, plan, call, options))
  noteScripts(router, call, reply)
  return needsPlainNumbers(plan) ? mapNumbers(reply, router.typeMappingOf(options)) : reply
}

/**
 * Sends every part and waits for all of them, failed or not: no part is left running behind a rejection.
 * @throws TypeError before anything is sent, when a word is neither text nor bytes
 */
export function settlePlan(
  router: Router,
  plan: Plan,
  call: Call,
  options: CallOptions | undefined,
): Promise<PartOutcome[]> {
  // An empty mapping, not an absent one: the pool's own must not apply either.
  const settings = needsPlainNumbers(plan) ? { ...options, typeMapping: {} } : options
  const { kind } = call.route
  assertEncodable(call.words)
  return Promise.all(
    plan.parts.map((part) =>
      kind === 'split'
        ? settleSplit(part, call.profile, settings)
        : settle(part, deliver(router, call, part, settings)),
    ),
  )
}

/** A part of a split command waits for nothing and is no script: the three steps of any other part in one frame. */
async function settleSplit(
  part: Part,
  profile: CommandProfile,
  options: CallOptions | undefined,
): Promise<PartOutcome> {
  const { shard, words } = part
  const since = shard.clock.now
  try {
    return { part, reply: await shard.send(words, profile, options) }
  } catch (error) {
    return await settle(part, shard.recover(error, words, profile, options, since))
  } finally {
    shard.settled++
  }
}

async function settle(part: Part, reply: Promise<unknown>): Promise<PartOutcome> {
  try {
    return { part, reply: await reply }
  } catch (error) {
    return { part, error }
  }
}

async function deliver(router: Router, call: Call, part: Part, options: CallOptions | undefined): Promise<unknown> {
  const { shard, words } = part
  if (mayBlock(call.route, words)) return carryOnLease(router, shard, words, call.profile, options)
  try {
    return await carry(shard, words, call.profile, options)
  } catch (error) {
    if (!isNoScript(error)) throw error
    const text = call.script ?? router.scripts.textOf(words[1])
    const whole = text === undefined ? undefined : withText(words, text)
    if (whole === undefined) throw error
    return carry(shard, whole, call.profile, options)
  }
}

function noteScripts(router: Router, call: Call, reply: unknown): void {
  if (call.profile.name === 'SCRIPT LOAD') router.scripts.remember(reply, call.words[2])
  else if (call.profile.name === 'SCRIPT FLUSH') router.scripts.forgetAll()
}

/** node-redis's number for the RESP type "number" in a type mapping. Pinned by the contract test. */
export const RESP_NUMBER = 58

/** Puts the caller's type mapping for numbers on what a join has calculated. */
export function mapNumbers(reply: unknown, typeMapping: TypeMapping | undefined): unknown {
  const to = (typeMapping as Record<number, unknown> | undefined)?.[RESP_NUMBER]
  if (typeof to !== 'function' || to === Number) return reply
  return Array.isArray(reply) ? reply.map((entry) => to(entry)) : to(reply)
}
