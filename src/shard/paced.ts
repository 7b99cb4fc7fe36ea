import type { Pace } from '../async/pace.js'
import { sleep } from '../async/sleep.js'
import type { Connection } from '../redis-client.js'

/** A connection that the other side ends within this time was no success, in ms. */
const STEADY_MS = 1_000

/**
 * What there is to wait for until its turn comes; undefined when it has come. Rejects with the signal's reason, and then has
 * taken no turn.
 */
export function turnOf(pace: Pace, signal: AbortSignal): Promise<void> | undefined {
  const waitMs = pace.take()
  if (waitMs === 0) return undefined
  return sleep(waitMs, signal).catch((error: unknown) => {
    pace.giveBack()
    throw error
  })
}

/**
 * Opens a connection by a pace that only trouble uses up: one that fails, or that the other side ends at once, costs a turn,
 * and one that stands costs none, however many are wanted.
 */
export async function openPaced(pace: Pace, signal: AbortSignal, open: () => Promise<Connection>): Promise<Connection> {
  const turn = turnOf(pace, signal)
  if (turn !== undefined) await turn
  const connection = await open().catch((error: unknown) => {
    // Given up by us: that says nothing of the other side.
    if (signal.aborted) pace.giveBack()
    throw error
  })
  pace.giveBack()
  const since = performance.now()
  connection.onEnd(() => {
    if (connection.lost && performance.now() - since < STEADY_MS) pace.take()
  })
  return connection
}
