import type { ShardState } from '../events.js'

/**
 * A shard is in exactly one state. Calls go out in `ready`; in `holding` only reads do, since a failover is announced and
 * what the old master would still take is lost; in `connecting` and `rebuilding` they wait, bounded.
 *
 *                 verified                    announced
 *   connecting ───────────────▶ ready ◀──────────────────▶ holding
 *                                │ ▲     verified, over       │
 *                           lost │ │ verified                 │ lost
 *                                ▼ │                          │
 *                             rebuilding ◀────────────────────┘
 *
 *   any ── close ──▶ closed
 */
export type ShardSignal = 'verified' | 'lost' | 'announced' | 'over' | 'close'

const TABLE: Readonly<Record<ShardState, Readonly<Partial<Record<ShardSignal, ShardState>>>>> = {
  connecting: { verified: 'ready', close: 'closed' },
  ready: { verified: 'ready', lost: 'rebuilding', announced: 'holding', close: 'closed' },
  holding: { verified: 'ready', lost: 'rebuilding', over: 'ready', close: 'closed' },
  rebuilding: { verified: 'ready', close: 'closed' },
  closed: {},
}

/** The state after `signal`; the same state where the table has no arrow, since a repeated signal is a no-op. */
export function nextState(state: ShardState, signal: ShardSignal): ShardState {
  return TABLE[state][signal] ?? state
}
