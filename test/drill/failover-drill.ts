import { setTimeout as pause } from 'node:timers/promises'
import type { FailoverEvent } from '../../src/index.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { keyOf, poolOn, type TestPool, valuesOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

export type DrillKind = 'planned' | 'kill'

/** What one failover cost. All times in ms. */
export interface DrillRow {
  readonly kind: DrillKind
  /** The promoted node said master by its own ROLE, seen by a poller beside the pool → first write acknowledged there. */
  readonly writeAfterPromotionMs: number
  /** First `+switch-master` on any sentinel → first write acknowledged by the new master; negative: it was ahead. */
  readonly writeAfterSwitchMs: number
  /** Longest time between two acknowledged writes to the shard. */
  readonly writePauseMs: number
  /** Acknowledged, and not on the new master. */
  readonly lost: number
  /** Of those, the ones that were called after the first `+switch-master`. */
  readonly lostAfterSwitch: number
  /** Errors by code on the shard that failed over, and on all others. */
  readonly errors: Readonly<Record<string, number>>
  readonly otherErrors: number
}

interface Write {
  readonly key: string
  readonly calledAt: number
  readonly endedAt: number
}

const WRITERS = 4

/** `replicas` per shard, two shards: one is failed over `rounds` times, the other must not notice. */
export async function runDrill(
  kind: DrillKind,
  rounds: number,
  options: { readonly replicas?: number; readonly onRow?: (row: DrillRow) => void } = {},
): Promise<readonly DrillRow[]> {
  const topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], replicas: options.replicas ?? 1 })
  const pool = poolOn(topology)
  const rows: DrillRow[] = []
  try {
    await pool.connect()
    for (let round = 0; round < rounds; round++) {
      const row = await failOver(topology, pool, kind, `r${round}`)
      options.onRow?.(row)
      rows.push(row)
      await heal(topology)
    }
  } finally {
    pool.destroy()
    await topology.close()
  }
  return rows
}

async function failOver(topology: LocalTopology, pool: TestPool, kind: DrillKind, prefix: string): Promise<DrillRow> {
  const [name, other] = topology.masters as [string, string]
  const old = await topology.currentMaster(name)
  const writes: Write[] = []
  const errors: Record<string, number> = {}
  let otherErrors = 0
  let stopped = false
  const writer = async (shard: string, id: number) => {
    const tag = keyOf(pool, shard, prefix)
    for (let i = 0; !stopped; i++) {
      const key = `${tag}:${id}:${i}`
      const calledAt = performance.now()
      try {
        await pool.set(key, key)
        if (shard === name) writes.push({ key, calledAt, endedAt: performance.now() })
      } catch (error) {
        const code = String((error as { code?: unknown }).code ?? error)
        if (shard === name) errors[code] = (errors[code] ?? 0) + 1
        else otherErrors++
      }
      await pause(2)
    }
  }
  const work = [name, other].flatMap((shard) => Array.from({ length: WRITERS }, (_, id) => writer(shard, id)))
  await until('some writes', () => writes.length > 100)

  let switchedAt = Number.POSITIVE_INFINITY
  const endListening = await topology.onSwitch((message) => {
    if (message.name === name) switchedAt = Math.min(switchedAt, performance.now())
  })
  const promotion = watchPromotion(topology, name, old)
  const event: Promise<FailoverEvent> = nextEvent(pool, 'failover')
  if (kind === 'kill') await old.kill()
  else await topology.failover(name)
  const { to } = await event
  const promotedAt = await promotion
  const target = topology.node(to)!
  await until('the announcement', () => switchedAt < Number.POSITIVE_INFINITY, 20_000)
  const seen = writes.length
  await until('writes after it', () => writes.length > seen + 100)
  stopped = true
  await Promise.all(work)
  await endListening()

  const found = await valuesOn(
    target,
    writes.map((write) => write.key),
  )
  const lost = writes.filter((write, i) => found[i] !== write.key)
  const kept = writes.filter((write, i) => found[i] === write.key).sort((a, b) => a.endedAt - b.endedAt)
  // A write that both masters hold was replicated; the first that only the new one can have taken ended after it was promoted.
  const first = kept.find((write) => write.endedAt >= promotedAt && write.calledAt < write.endedAt)!
  return {
    kind,
    writeAfterPromotionMs: first.endedAt - promotedAt,
    writeAfterSwitchMs: first.endedAt - switchedAt,
    writePauseMs: longestPause(kept),
    lost: lost.length,
    lostAfterSwitch: lost.filter((write) => write.calledAt > switchedAt).length,
    errors,
    otherErrors,
  }
}

/** `performance.now()` when one of the replicas first said master, asked of the servers themselves every few ms. */
async function watchPromotion(topology: LocalTopology, name: string, old: TopologyNode): Promise<number> {
  const others = topology.shard(name).nodes.filter((node) => node !== old && node.state === 'up')
  for (;;) {
    const roles = await Promise.all(others.map((node) => node.role().catch(() => undefined)))
    if (roles.some((role) => role?.role === 'master')) return performance.now()
    await pause(2)
  }
}

function longestPause(writes: readonly Write[]): number {
  let longest = 0
  for (let i = 1; i < writes.length; i++) longest = Math.max(longest, writes[i]!.endedAt - writes[i - 1]!.endedAt)
  return longest
}

/** Brings back whoever is down, and waits until every sentinel is content: the next round starts as the first did. */
async function heal(topology: LocalTopology): Promise<void> {
  for (const node of topology.nodes) if (node.state === 'down') await node.restart()
  await topology.waitUntilSettled({ hurry: true, timeoutMs: 60_000 })
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
