import type { PoolEvents } from '../../src/events.js'
import type { TestPool } from './pool-on-topology.js'

/** The first event that passes the test. Listen before what causes it; rejects when there is none within `timeoutMs`. */
export function nextEvent<E extends 'failover' | 'reconnect' | 'shard-down' | 'sentinel' | 'lease-leak'>(
  pool: Pick<TestPool, 'on' | 'off'>,
  event: E,
  settings: { test?: (arg: Parameters<PoolEvents[E]>[0]) => boolean; timeoutMs?: number } = {},
): Promise<Parameters<PoolEvents[E]>[0]> {
  type Arg = Parameters<PoolEvents[E]>[0]
  const { test = () => true, timeoutMs = 30_000 } = settings
  const emitter = pool as unknown as { on(e: E, l: (arg: Arg) => void): void; off(e: E, l: (arg: Arg) => void): void }
  return new Promise((resolve, reject) => {
    const listener = (arg: Arg) => {
      if (!test(arg)) return
      finish()
      resolve(arg)
    }
    const finish = () => {
      clearTimeout(timer)
      emitter.off(event, listener)
    }
    const timer = setTimeout(() => {
      finish()
      reject(new Error(`no ${event} event within ${timeoutMs} ms`))
    }, timeoutMs)
    emitter.on(event, listener)
  })
}

/** Looks until the state is there: for states that no event tells of. Rejects with `what` after `timeoutMs`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
