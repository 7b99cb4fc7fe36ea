import type { FailoverEvent } from '../../src/index.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import type { CallRecord } from './load.js'
import { errorsByCode, Load } from './load.js'
import { type ClientLine, poolClientIds, poolClients, poolOn, type TestPool, valuesOn } from './pool-on-topology.js'
import { socketsTo } from './sockets.js'
import { nextEvent, until } from './waiting.js'

export const COMMAND_TIMEOUT_MS = 3_000

/** What users and servers saw of one failover under load. */
export interface Story {
  readonly topology: LocalTopology
  readonly pool: TestPool
  readonly failed: string
  readonly others: readonly string[]
  readonly oldMaster: TopologyNode
  readonly newMaster: TopologyNode
  readonly event: FailoverEvent
  /** `performance.now()` when the pool said that the new master is verified. */
  readonly switchedAt: number
  readonly calls: readonly CallRecord[]
  readonly failovers: readonly FailoverEvent[]
  /** The pool's connections to the old master before it failed. */
  readonly clientsOfOldBefore: readonly ClientLine[]
  /** Ids of the pool's connections on the masters of the other shards. */
  readonly idsBefore: readonly (readonly string[])[]
  readonly idsAfter: readonly (readonly string[])[]
  /** Sockets of the pool to the old master, once the new one was verified. */
  readonly socketsToOld: number
}

/** Brings up three shards and an app, lets `fail` harm the master of the first, and goes on until writes have resumed. */
export async function failUnderLoad(
  fail: (master: TopologyNode, topology: LocalTopology, pool: TestPool) => Promise<unknown>,
): Promise<Story> {
  const topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'] })
  const [failed, ...others] = topology.masters as [string, ...string[]]
  const pool = poolOn(topology, { commandTimeoutMs: COMMAND_TIMEOUT_MS })
  const oldMaster = await topology.currentMaster(failed)
  const masters = await Promise.all(others.map((name) => topology.currentMaster(name)))
  // The topology has a connection of its own to each of its servers.
  const ownSockets = socketsTo(oldMaster.port)
  await pool.connect()
  await until('the lease connections', () => pool.stats().shards.every((shard) => shard.leases.idle === 1))
  const clientsOfOldBefore = await poolClients(oldMaster)
  const idsBefore = await Promise.all(masters.map(poolClientIds))

  const failovers: FailoverEvent[] = []
  let switchedAt = 0
  let socketsToOld = Number.NaN
  pool.on('failover', (event) => {
    failovers.push(event)
    switchedAt = performance.now()
    // A closed handle leaves the kernel's table in the same turn of the loop or the next.
    setImmediate(() =>
      setImmediate(() => {
        socketsToOld = socketsTo(oldMaster.port) - ownSockets
      }),
    )
  })
  const load = new Load(pool, topology.masters)
  await until('some traffic', () => load.calls.length > 300)
  const failover = nextEvent(pool, 'failover')
  await fail(oldMaster, topology, pool)
  const event = await failover
  const isKept = (call: CallRecord) =>
    call.shard === failed && call.kind === 'set' && call.error === undefined && call.startedAt > switchedAt
  await until('writes to resume', () => load.calls.filter(isKept).length > 50)
  const calls = await load.stop()
  const newMaster = topology.node(event.to)!
  const idsAfter = await Promise.all(masters.map(poolClientIds))
  return {
    topology,
    pool,
    failed,
    others,
    oldMaster,
    newMaster,
    event,
    switchedAt,
    calls,
    failovers,
    clientsOfOldBefore,
    idsBefore,
    idsAfter,
    socketsToOld: Math.max(0, socketsToOld),
  }
}

/** Writes that were called after the pool had its new master and were acknowledged, but are not there. */
export async function lostAfterSwitch({ calls, failed, switchedAt, newMaster }: Story): Promise<string[]> {
  const kept = calls.filter(
    (call) => call.shard === failed && call.kind === 'set' && call.error === undefined && call.startedAt > switchedAt,
  )
  const found = await valuesOn(
    newMaster,
    kept.map((call) => call.key),
  )
  return kept.filter((call, i) => found[i] !== call.value).map((call) => call.key)
}

export function errorsOfOthers({ calls, others }: Story): Record<string, number> {
  return errorsByCode(calls.filter((call) => others.includes(call.shard)))
}

/** Calls that took longer than their deadline and a tick or two. */
export function overdue({ calls }: Story): string[] {
  return calls
    .map((call) => ({ ...call, tookMs: call.endedAt - call.startedAt }))
    .filter((call) => call.tookMs > COMMAND_TIMEOUT_MS + 100)
    .map((call) => `${call.kind} on ${call.shard} took ${Math.round(call.tookMs)} ms`)
}

/** Reads that gave something else than what was written there, or nothing at all on a shard that lost nothing. */
export function wrongReads({ calls, others }: Story): string[] {
  return calls
    .filter((call) => call.kind === 'get' && call.error === undefined)
    .filter((call) => call.reply !== call.value && (call.reply !== null || others.includes(call.shard)))
    .map((call) => `${call.key} gave ${String(call.reply)}`)
}

export async function closeStory(story: Story | undefined): Promise<void> {
  story?.pool.destroy()
  await story?.topology.close()
}
