import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Address,
  diagnose,
  formatAddress,
  inspectTopology,
  type PoolOptions,
  parseAddress,
  requestFailover,
  type ShardReport,
} from '../../index.js'
import { type Command, type Context, EXIT } from '../command.js'
import { CutDoors } from '../drill/cut.js'
import { Probe } from '../drill/probe.js'
import { type DrillReport, judgeDrill, reportText } from '../drill/report.js'
import { TimeLine } from '../drill/time-line.js'
import { type CommandPool, makePool } from '../pool.js'
import { readSettings } from '../settings.js'
import { UsageError, unknownWord } from '../usage-error.js'
import { describeFinding } from './doctor.js'

/** Writes flow for so long before and after, for the report to have something to compare with. */
const BEFORE_MS = 1_000
const AFTER_MS = 2_000

export const drill: Command = {
  name: 'drill',
  summary: 'A guided failover under a small probe load, with a report to file',
  synopsis: '<master> [--kill-sim] [--yes] [--report <file>] [--json]',
  description: `Looks the topology over, asks, writes a probe key on every shard twenty times a second, has Sentinel fail the
    master over (SENTINEL FAILOVER: the old one stays up and becomes a replica), and tells what an app would have felt:
    the window without a write, errors, the longest wait, and the time line of what sentinels and pool did.

    With --kill-sim no server is touched: this process's own connections to the shard are cut, and new ones refused, for
    --cut-ms. That shows how the pool gets over a broken network.

    Exit code 0 when the shard came back, nothing is in doubt and no other shard had an error; 1 when not; 3 when the question
    was not answered with yes.`,
  examples: [
    'cache-b -c pool.json',
    'cache-b -c pool.json --yes --report drill.md',
    'cache-b -c pool.json --kill-sim --yes --json',
  ],
  flags: [
    { name: 'yes', short: 'y', help: 'Do not ask' },
    { name: 'force', help: 'Go on although doctor finds errors' },
    { name: 'kill-sim', help: 'Cut the connections of this process in place of a failover' },
    { name: 'cut-ms', value: '<ms>', help: 'How long --kill-sim refuses new connections. Default 2000' },
    { name: 'interval', value: '<ms>', help: 'Between two probe writes on a shard. Default 50' },
    { name: 'wait', value: '<ms>', help: 'Longest wait for the new master. Default 60000' },
    { name: 'report', value: '<file>', help: 'Write the report, Markdown, to a file too' },
    { name: 'json', help: 'The report as JSON' },
  ],
  takesSettings: true,
  words: [1, 1],
  async run(context) {
    const { flags, io, signal } = context
    const master = context.words[0]!
    const options = await readSettings(flags, io.env)
    const shard = await lookOver(master, options, context)
    if (shard === undefined) return EXIT.failed
    if (!(await confirmed(master, context))) return EXIT.refused
    const killSim = flags.has('kill-sim')
    const doors = killSim ? await openDoors(shard, options) : undefined
    const pool = makePool({ ...options, ...(doors ? throughDoors(options, doors) : {}) })
    const stop = () => pool.destroy()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await pool.connect()
      const report = await perform(pool, master, options, context, doors)
      const text = reportText(report)
      if (flags.has('json')) io.out(`${JSON.stringify(report, undefined, 2)}\n`)
      else io.out(text)
      const file = flags.text('report')
      if (file !== undefined) await writeFile(file, text)
      return report.passed ? EXIT.ok : EXIT.trouble
    } finally {
      signal.removeEventListener('abort', stop)
      pool.destroy()
      doors?.close()
    }
  },
}

/** The shard, if nothing speaks against a drill. */
async function lookOver(master: string, options: PoolOptions, context: Context): Promise<ShardReport | undefined> {
  const { flags, io, paint, signal } = context
  const names = options.masters.map((one) => (typeof one === 'string' ? one : one.name))
  if (!names.includes(master)) throw unknownWord('master', master, names)
  if (options.sentinels === undefined && !flags.has('kill-sim')) {
    throw new UsageError('there are no sentinels to fail over; --kill-sim works without')
  }
  const picture = await inspectTopology(options, { signal })
  const errors = diagnose(picture).filter(({ severity }) => severity === 'error')
  for (const finding of errors) io.err(`${describeFinding(finding, paint, io.columns)}\n\n`)
  if (errors.length > 0 && !flags.has('force')) {
    io.err('Not drilled: a failover would fail for the reasons above. --force goes on all the same.\n')
    return undefined
  }
  return picture.shards.find(({ name }) => name === master)
}

async function confirmed(master: string, { flags, io }: Context): Promise<boolean> {
  if (flags.has('yes')) return true
  const what = flags.has('kill-sim')
    ? `This cuts the connections of this process to ${master}; no server is touched.`
    : `This fails ${master} over. Its clients lose their connections; writes of about the last second may be lost.`
  const answer = await io.ask(`${what}\nType the master's name to go on: `)
  if (answer?.trim() === master) return true
  io.err('Not confirmed; nothing was done. Scripts give --yes.\n')
  return false
}

async function perform(
  pool: CommandPool,
  master: string,
  options: PoolOptions,
  { flags, io, paint, signal }: Context,
  doors: CutDoors | undefined,
): Promise<DrillReport> {
  const since = performance.now()
  const startedAt = new Date().toISOString()
  const addressNow = () => {
    const address = pool.shards.find(({ name }) => name === master)?.address
    return address && formatAddress(address)
  }
  const from = addressNow()
  const timeLine = new TimeLine(pool, master, since, ({ atMs, what }) =>
    io.err(`${paint('dim', `${String(atMs).padStart(6)} ms`)}  ${what}\n`),
  )
  const probe = new Probe(pool, flags.number('interval', 50, 5, 60_000), since)
  probe.start()
  timeLine.add('probe: writing on every shard')
  await sleep(BEFORE_MS, undefined, { signal })
  const begun =
    doors === undefined
      ? await failOver(master, options, timeLine, signal)
      : cutFor(doors, flags.number('cut-ms', 2_000, 1, 600_000), timeLine)
  let settled = false
  if (begun) {
    const gaveUp = new AbortController()
    const wait = sleep(flags.number('wait', 60_000, 100, 3_600_000), false, {
      signal: AbortSignal.any([signal, gaveUp.signal]),
    })
    settled = await Promise.race([timeLine.settled.then(() => true), wait])
    gaveUp.abort()
    wait.catch(() => {})
    await sleep(AFTER_MS, undefined, { signal })
    settled = settled && performance.now() - since - probe.lastGoodAt(master) < AFTER_MS
  }
  const probed = await probe.stop()
  timeLine.add('probe: stopped')
  const kind = doors === undefined ? 'failover' : 'kill-sim'
  const checks = judgeDrill(kind, master, settled, probed)
  return {
    master,
    kind,
    startedAt,
    passed: checks.every(({ good }) => good),
    checks,
    from,
    to: addressNow(),
    probe: probed,
    timeLine: timeLine.moments,
  }
}

async function failOver(
  master: string,
  options: PoolOptions,
  timeLine: TimeLine,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await requestFailover(options, master, { signal })
  if (answer.sentinel !== undefined) {
    timeLine.add(`drill: SENTINEL FAILOVER ${master}, accepted by ${formatAddress(answer.sentinel)}`)
    return true
  }
  for (const { sentinel, reply } of answer.refusals) timeLine.add(`drill: ${sentinel} refuses: ${reply}`)
  return false
}

function cutFor(doors: CutDoors, ms: number, timeLine: TimeLine): boolean {
  doors.cut()
  timeLine.add(`drill: connections cut, new ones refused for ${ms} ms`)
  setTimeout(() => {
    doors.mend()
    timeLine.add('drill: new connections pass again')
  }, ms).unref()
  return true
}

async function openDoors({ master, others }: ShardReport, options: PoolOptions): Promise<CutDoors> {
  if (options.client?.socket !== undefined && 'tls' in options.client.socket && options.client.socket.tls) {
    throw new UsageError('--kill-sim cannot stand between this process and servers that speak TLS')
  }
  return CutDoors.open([...(master ? [master] : []), ...others])
}

/** The same options, with the doors of the shard behind the user's own address map. */
function throughDoors(options: PoolOptions, doors: CutDoors): Pick<PoolOptions, 'addressMap'> {
  const { addressMap } = options
  const own = (address: Address): Address => {
    if (typeof addressMap === 'function') return addressMap(address) ?? address
    const to = addressMap?.[formatAddress(address)]
    return (typeof to === 'string' ? parseAddress(to, 6379) : to) ?? address
  }
  return { addressMap: (address) => doors.doorTo(address) ?? own(address) }
}
