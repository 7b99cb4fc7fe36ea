import { Session } from 'node:inspector/promises'
import { LocalTopology } from '../../src/testing/index.js'
import { Random } from '../simulator/random.js'
import { poolOn } from '../support/pool-on-topology.js'
import { activeResources, socketsTo } from '../support/sockets.js'
import { until } from '../support/waiting.js'
import { Books } from './books.js'
import { FAULTS } from './faults.js'

export interface SoakReport {
  readonly seed: number
  readonly seconds: number
  readonly faults: Readonly<Record<string, number>>
  readonly writes: number
  readonly acknowledged: number
  readonly reads: number
  readonly failovers: number
  /** Acknowledged by a master that stood, and gone. */
  readonly lost: readonly string[]
  /** Acknowledged by a master that was then replaced: what replication had not carried over. */
  readonly lostWithOldMaster: number
  readonly doubled: readonly string[]
  /** Calls that never ended. */
  readonly hung: number
  /** Calls that ended after their deadline, in ms. */
  readonly overdueMs: readonly number[]
  readonly wrongReplies: number
  readonly errors: Readonly<Record<string, number>>
  readonly heapMb: { readonly before: number; readonly after: number }
  /** Open sockets of this process to the servers, beyond those that were open before there was a pool. */
  readonly socketsLeft: number
  /** What keeps this process busy, before there was a pool and after it was closed: sockets (the proxies' too), timers … */
  readonly handles: { readonly before: Record<string, number>; readonly after: Record<string, number> }
}

const COMMAND_TIMEOUT_MS = 2_000
/** A busy machine runs a timer late. */
const SLACK_MS = 500
/** A call that has not ended by then, counted from when no more are made, never will. */
const HUNG_MS = 5 * COMMAND_TIMEOUT_MS

/** Real servers under load, and a fault every few seconds, for so long. Resolves with what came of it; judges nothing. */
export async function soak(seconds: number, seed: number, log: (line: string) => void = () => {}): Promise<SoakReport> {
  const random = new Random(seed)
  await using topology = await LocalTopology.start({
    shards: ['soak-a', 'soak-b', 'soak-c'],
    proxy: { data: true },
    dataConfig: { 'enable-debug-command': 'yes' },
  })
  const sockets = async () => {
    const proxies = await Promise.all(topology.shards.flatMap(({ nodes }) => nodes.map((node) => topology.proxy(node))))
    const ports = [...proxies.map(({ address }) => address.port), ...topology.sentinels.map(({ port }) => port)]
    return ports.reduce((sum, port) => sum + socketsTo(port), 0)
  }
  const socketsBefore = await sockets()
  const handlesBefore = activeResources()
  const pool = poolOn(topology, { commandTimeoutMs: COMMAND_TIMEOUT_MS, heartbeatMs: 1_000 })
  // Whatever ends this early, a wait that was too long say: callers must end with it.
  await using _closed = { [Symbol.asyncDispose]: () => pool.close() }
  await pool.connect()
  const books = new Map(topology.masters.map((name) => [name, new Books(pool, name, COMMAND_TIMEOUT_MS + SLACK_MS)]))
  const faults: Record<string, number> = {}
  let failovers = 0
  pool.on('failover', ({ shard }) => {
    failovers++
    books.get(shard)!.moved()
  })
  const heapBefore = await heapMb()
  const startedAt = performance.now()
  // Each kind comes once before any comes twice.
  let deck: (typeof FAULTS)[number][] = []
  while (performance.now() - startedAt < seconds * 1_000) {
    if (deck.length === 0) deck = [...FAULTS]
    const fault = deck.splice(random.int(0, deck.length - 1), 1)[0]!
    const shard = random.pick(topology.masters)
    log(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${fault.name} on ${shard}`)
    faults[fault.name] = (faults[fault.name] ?? 0) + 1
    if (fault.moves) books.get(shard)!.harmed()
    await fault.run(topology, shard)
    await topology.waitUntilSettled({ hurry: true })
    await until('the pool to be whole', () => pool.isReady, 20_000)
    await new Promise((resolve) => setTimeout(resolve, random.int(300, 1_500)))
  }
  const unended = await Promise.all([...books.values()].map((book) => book.stop(HUNG_MS)))
  const balances = await Promise.all([...books.values()].map((book) => book.balance(topology)))
  const heapAfter = await heapMb()
  await pool.close()
  const sum = (figure: (balance: (typeof balances)[number]) => number) =>
    balances.reduce((total, balance) => total + figure(balance), 0)
  const all = [...books.values()]
  return {
    seed,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    faults,
    writes: sum(({ writes }) => writes),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    reads: all.reduce((total, { reads }) => total + reads, 0),
    failovers,
    lost: balances.flatMap(({ lost }) => lost),
    lostWithOldMaster: sum(({ lostWithOldMaster }) => lostWithOldMaster),
    doubled: balances.flatMap(({ doubled }) => doubled),
    hung: unended.reduce((total, calls) => total + calls, 0),
    overdueMs: all.flatMap(({ overdueMs }) => overdueMs),
    wrongReplies: all.reduce((total, { wrongReads }) => total + wrongReads, 0),
    errors: merged(all.map(({ codes }) => codes)),
    heapMb: { before: heapBefore, after: heapAfter },
    socketsLeft: (await sockets()) - socketsBefore,
    handles: { before: handlesBefore, after: activeResources() },
  }
}

/** What must hold after any soak; empty when it does. */
export function complaints(report: SoakReport): string[] {
  const found: string[] = []
  if (report.lost.length > 0) found.push(`${report.lost.length} acknowledged writes lost: ${report.lost.slice(0, 5)}`)
  if (report.doubled.length > 0) found.push(`${report.doubled.length} writes ran twice: ${report.doubled.slice(0, 5)}`)
  if (report.hung > 0) found.push(`${report.hung} calls never ended`)
  if (report.overdueMs.length > 0)
    found.push(`${report.overdueMs.length} calls past their deadline: ${report.overdueMs.slice(0, 5)}`)
  if (report.wrongReplies > 0) found.push(`${report.wrongReplies} wrong replies`)
  // The books themselves grow by some hundred bytes a call.
  const booksMb = ((report.writes + report.reads) * 400) / 1e6
  if (report.heapMb.after > report.heapMb.before + booksMb + 20)
    found.push(`the heap grew: ${JSON.stringify(report.heapMb)}`)
  if (report.socketsLeft > 0) found.push(`${report.socketsLeft} sockets left`)
  return found
}

function merged(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const one of counts) for (const [name, n] of Object.entries(one)) total[name] = (total[name] ?? 0) + n
  return total
}

/** After a full collection: what is left is held by somebody. */
async function heapMb(): Promise<number> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
  return Math.round(process.memoryUsage().heapUsed / 1e5) / 10
}
