import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { keyOf, poolOn, type TestPool, valuesOn } from '../support/pool-on-topology.js'
import { nextEvent } from '../support/waiting.js'

export interface DrillFigures {
  readonly failovers: number
  readonly acknowledged: number
  /** Acknowledged, and not there after the failover. */
  readonly lost: number
}

export interface DrillReport {
  readonly withReplicaAck: DrillFigures
  readonly without: DrillFigures
}

/**
 * On one machine replication is as quick as the answers. So before each kill the replica stands still for a moment, as if
 * over a network that stalls, and the writes are many and large enough to pile up in the master.
 */
const LAG_MS = 300
const CALLERS = 64
const VALUE = 'x'.repeat(8_000)

/**
 * kill -9 on the master under load, again and again, half of the callers with `withReplicaAck` and half without, and after
 * each the question what of the acknowledged is there. Both halves live through the very same failovers.
 */
export async function durableDrill(failovers: number, log: (line: string) => void = () => {}): Promise<DrillReport> {
  await using topology = await LocalTopology.start({ shards: ['drill'], replicas: 1, downAfterMs: 500 })
  const pool = poolOn(topology, { commandTimeoutMs: 3_000 })
  await pool.connect()
  const sums = { safe: { acknowledged: 0, lost: 0 }, plain: { acknowledged: 0, lost: 0 } }
  try {
    for (let round = 1; round <= failovers; round++) {
      const written = await oneRound(topology, pool, round)
      const master = await topology.currentMaster('drill')
      for (const kind of ['safe', 'plain'] as const) {
        const keys = written[kind]
        const lost = (await existing(master, keys)).filter((there) => !there).length
        sums[kind].acknowledged += keys.length
        sums[kind].lost += lost
        log(`failover ${round}: ${kind} ${keys.length} acknowledged, ${lost} lost`)
      }
      await master.command('FLUSHALL')
    }
  } finally {
    await pool.close()
  }
  return { withReplicaAck: { failovers, ...sums.safe }, without: { failovers, ...sums.plain } }
}

/** Keys of the writes that were acknowledged up to the kill and through the failover. */
async function oneRound(topology: LocalTopology, pool: TestPool, round: number) {
  const tag = keyOf(pool, 'drill')
  const safePool = pool.withReplicaAck({ replicas: 1, timeoutMs: 1_000 })
  const written: Record<'safe' | 'plain', string[]> = { safe: [], plain: [] }
  let stopped = false
  const call = async (kind: 'safe' | 'plain', caller: number) => {
    const to = kind === 'safe' ? safePool : pool
    for (let i = 0; !stopped; i++) {
      const key = `${tag}:${round}:${kind}:${caller}:${i}`
      const acknowledged = await to.set(key, VALUE).then(
        () => true,
        () => false,
      )
      if (acknowledged) written[kind].push(key)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const callers = Array.from({ length: CALLERS }, (_, i) => call(i % 2 === 0 ? 'safe' : 'plain', i))
  await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 300))
  const moved = nextEvent(pool, 'failover')
  const [replica] = await topology.replicas('drill')
  const old = await topology.currentMaster('drill')
  replica!.freeze()
  await new Promise((resolve) => setTimeout(resolve, LAG_MS))
  await old.kill()
  replica!.cont()
  await moved
  stopped = true
  await Promise.all(callers)
  await topology.waitForSwitch('drill', old)
  await old.restart()
  await topology.waitUntilSettled({ hurry: true })
  return written
}

async function existing(master: TopologyNode, keys: readonly string[]): Promise<boolean[]> {
  return (await valuesOn(master, keys)).map((value) => value !== null)
}
