import type { CommandFacts } from './command-table.js'
import type { Join } from './joins.js'
import { OWN_ROUTES, REFUSED_GROUPS } from './own-routes.js'

/**
 * Where a command goes.
 *
 *     keyed     the shard of its keys; keys of two shards are a CrossShardError
 *     split     one command per shard that owns some of its keys, answers in the caller's order
 *     all       every shard, answers joined
 *     any       whoever answers first: every server would say the same
 *     unknown   the first shard: no server knows the command, and its complaint is the answer
 *     channel   the shard that the ring gives the channel, which is the word at `at`
 *     scan      a cursor that walks from shard to shard
 *     refused   nowhere; `hint` says what to use instead
 *
 * `blocking` commands may wait on the server, so they go over a lease.
 */
export type Route =
  | { readonly kind: 'keyed'; readonly blocking: boolean }
  | { readonly kind: 'split' }
  | { readonly kind: 'all'; readonly join: Join; readonly blocking: boolean }
  | { readonly kind: 'any' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'channel'; readonly at: number }
  | { readonly kind: 'scan' }
  | { readonly kind: 'refused'; readonly hint: string }

const KEYED: Route = { kind: 'keyed', blocking: false }
const KEYED_BLOCKING: Route = { kind: 'keyed', blocking: true }
const SPLIT: Route = { kind: 'split' }

/** For a command of which nothing is known: it goes by its keys, and without keys nowhere. */
export const UNKNOWN_ROUTE: Route = KEYED

/** True for what is not about keys: it is the masters that are asked. */
export function isOfMaster({ kind }: Route): boolean {
  return kind !== 'keyed' && kind !== 'split'
}

/**
 * By the data that Redis publishes, with our own word first where that data is silent ("arbitrary shard") or special.
 * A keyless command that neither has a policy nor a word of ours is refused: one shard is never picked in silence.
 */
export function routeOf(facts: CommandFacts | undefined): Route {
  if (facts === undefined) return UNKNOWN_ROUTE
  const own = OWN_ROUTES.get(facts.name)
  if (own !== undefined) return own
  for (const [group, hint] of REFUSED_GROUPS) if (facts.flags.has(group)) return { kind: 'refused', hint }
  const blocking = facts.flags.has('blocking')
  switch (facts.request) {
    case 'default-keyed':
      return blocking ? KEYED_BLOCKING : KEYED
    case 'multi_shard':
      return SPLIT
    case 'all_shards':
    case 'all_nodes':
      return facts.response === 'special' ? REFUSED : { kind: 'all', join: facts.response as Join, blocking }
    default:
      return REFUSED
  }
}

const REFUSED: Route = {
  kind: 'refused',
  hint: 'it concerns one server; ask one shard: `pool.shards[i].sendCommand([…])` or `pool.shards[i].use(…)`',
}
