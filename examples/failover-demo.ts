/**
 * `npm start`: a session store on three shards lives through the SIGKILL of one master.
 *
 * Ends by itself, with exit code 0 only if the other shards saw no error, nothing hung, no write was doubled and none
 * that a living master had acknowledged was lost. Ctrl-C ends it at any moment and leaves no process behind.
 * With `-- --dashboard` it opens a page that shows it live, and stays until Ctrl-C.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LiveLine, paint } from './failover-demo/display.js'
import { Ledger } from './failover-demo/ledger.js'
import { readBack } from './failover-demo/read-back.js'
import { judge, report } from './failover-demo/report.js'
import { ShardTally } from './failover-demo/tally.js'
import { TimeLine } from './failover-demo/time-line.js'
import { Traffic } from './failover-demo/traffic.js'
import { LocalTopology, ShardedSentinelPool, startDashboard } from './library.js'

const DASHBOARD = process.argv.includes('--dashboard')
const SHARDS = ['cache-a', 'cache-b', 'cache-c'] as const
const VICTIM = 'cache-b'
const PER_SECOND = 400
const COMMAND_TIMEOUT_MS = 5_000
/** What this process and its timers may be late by on a busy machine. */
const GRACE_MS = 500
const BEFORE_KILL_MS = 6_000
const FAILOVER_BOUND_MS = 20_000
const AFTER_SWITCH_MS = 10_000

async function main(signal: AbortSignal): Promise<number> {
  console.log(`Starting ${SHARDS.length} shards, each a master and a replica, and 3 sentinels …`)
  await using topology = await LocalTopology.start({ shards: SHARDS, replicas: 1, sentinels: 3, signal })
  const options = { masters: topology.masters, sentinels: topology.sentinels, commandTimeoutMs: COMMAND_TIMEOUT_MS }
  const pool = new ShardedSentinelPool(options)
  // Whatever happens from here on, the pool goes before the servers do.
  await using _ = { [Symbol.asyncDispose]: async () => pool.destroy() }
  await pool.connect()
  const title = 'Session store on three shards'
  await using page = DASHBOARD ? await startDashboard(pool, { options, title, open: true }) : undefined
  if (page) console.log(`The dashboard: ${page.url}`)

  const ledger = new Ledger(VICTIM)
  const timeLine = new TimeLine(pool, VICTIM)
  const tallies = SHARDS.map((shard) => new ShardTally(shard))
  const tallyOf = new Map(tallies.map((tally) => [tally.shard, tally]))
  const switched = new Promise<void>((resolve) => {
    pool.on('failover', ({ shard }) => {
      if (shard !== VICTIM) return
      ledger.switched()
      resolve()
    })
  })
  const traffic = new Traffic({
    pool,
    ledger,
    perSecond: PER_SECOND,
    onStart: (shard) => tallyOf.get(shard)!.started(),
    onEnd: (operation) => {
      tallyOf.get(operation.shard)!.ended(operation)
      timeLine.ended(operation)
    },
  })
  const live = new LiveLine(pool, tallies)
  try {
    live.say(`A session store: create, read, touch, expire; ${PER_SECOND} operations a second. Ctrl-C ends it.`)
    await sleep(BEFORE_KILL_MS, undefined, { signal })

    const master = await topology.currentMaster(VICTIM)
    live.say(paint('yellow', `kill -9: the master of ${VICTIM}, ${master.host}:${master.port}`))
    timeLine.killed(master.address)
    await master.kill()
    await Promise.race([switched, sleep(FAILOVER_BOUND_MS, undefined, { signal, ref: false })])
    const now = pool.shards[SHARDS.indexOf(VICTIM)]!.address
    live.say(paint('yellow', `${VICTIM} is at ${now?.host}:${now?.port}; the app goes on`))
    await sleep(AFTER_SWITCH_MS, undefined, { signal })
  } finally {
    live.stop()
    // On Ctrl-C nobody waits for answers any more.
    if (signal.aborted) pool.destroy()
    await traffic.stop(signal.aborted ? 0 : COMMAND_TIMEOUT_MS + GRACE_MS)
  }

  const audits = []
  for (const shard of SHARDS) audits.push(ledger.audit(shard, await readBack(topology, shard)))
  const findings = {
    victim: VICTIM,
    tallies,
    stats: pool.stats().shards,
    audits,
    timeLine,
    boundMs: COMMAND_TIMEOUT_MS + GRACE_MS,
    neverEnded: traffic.inFlight,
  }
  console.log(report(findings))
  if (page && !signal.aborted) {
    console.log(`The dashboard stays until Ctrl-C: ${page.url}`)
    await once(signal, 'abort')
  }
  await pool.close()
  return judge(findings).every(({ good }) => good) ? 0 : 1
}

const interrupted = new AbortController()
for (const [name, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.on(name, () => {
    // The second time nobody wants to wait: what is left ends with this process.
    if (interrupted.signal.aborted) process.exit(code)
    console.log(`\n${name}: ending the servers …`)
    process.exitCode = code
    interrupted.abort(new Error(name))
  })
}

try {
  const code = await main(interrupted.signal)
  process.exitCode ??= code
} catch (error) {
  if (!interrupted.signal.aborted) throw error
}
