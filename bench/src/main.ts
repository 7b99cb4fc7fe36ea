/*
 * The whole: the pool beside bare clients in every workload, beside what people use otherwise, what it costs as a whole, and
 * the micro benches. With `--write` the tables go into docs/performance.md.
 *
 * From the environment: ROUNDS (7), SLICES (8), MS of a slice (60), PEERS_MS (200), WARM_UP_MS (1000), IDLE_MS (10000), COMMANDS (2000000).
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PEERS } from './contenders/index.js'
import { conditions, publish } from './document.js'
import { showSpread, table } from './figures.js'
import { Fleet } from './fleet.js'
import { HEAD, MEASURED, measureAll, type Result, rowsOf, task } from './measure.js'
import { fill, startServers } from './servers.js'
import { measureWhole } from './whole.js'

const env = (name: string, fallback: number) => Number(process.env[name] ?? fallback)
const settings = { rounds: env('ROUNDS', 7), slices: env('SLICES', 8), ms: env('MS', 60) }

const COMMAND = 'npm run bench -- --write'
const results: Result[] = []
const peers: Result[] = []

const { servers, close } = await startServers(4, 1)
try {
  const two = await Fleet.start(['bare', 'pool'], servers)
  try {
    for (const one of MEASURED) {
      await fill(servers, one.size)
      const measured = await measureAll(two, [one], { ...settings, names: ['bare', 'pool'] })
      console.error(table(HEAD, rowsOf(measured)))
      results.push(...measured)
    }
  } finally {
    two.close()
  }
  publish('bare', 'The pool to the bare client; 1 is the bare client, more is better', comparison(results))
  await fill(servers, 32)
  const all = ['bare', 'pool', 'sendCommand', ...PEERS]
  const fleet = await Fleet.start(all, servers)
  try {
    // Ten processes in turn: longer slices, so that what a turn costs at its beginning is a small part of each.
    const slices = Math.max(2, settings.slices >> 1)
    const inTurn = { ...settings, slices, ms: env('PEERS_MS', 200), names: all }
    peers.push(...(await measureAll(fleet, [task('get', 256)], inTurn)))
    publish('peers', 'GET of 32 B on 4 shards, 256 in flight; 1 is the bare client', sideBySide(peers))
  } finally {
    fleet.close()
  }
} finally {
  await close()
}
const whole = { rounds: settings.rounds, idleMs: env('IDLE_MS', 10_000), commands: env('COMMANDS', 2_000_000) }
publish('whole', 'As a whole', await measureWhole(whole))
const where = conditions(COMMAND)
publish('readme', 'In short', `${inShort()}\n\n${where}`, 'README.md')
publish('micro', 'By themselves', ['ring.bench', 'router.bench'].map(micro).join('\n\n'))
publish('conditions', 'Conditions', where)

function comparison(results: readonly Result[]): string {
  const rows = results
    .filter(({ name }) => name === 'pool')
    .map((result) => {
      const [row] = rowsOf([result])
      const [, , , , ops, cpu, , p50, p99] = row!
      return [result.task.label, showSpread(result.rate), showSpread(result.cpu), ops!, cpu!, p50!, p99!]
    })
  return table(
    ['workload@in flight', 'ops/s', 'CPU, bare to it', 'ops/s of the pool', 'its µs CPU', 'p50 ms', 'p99 ms'],
    rows,
  )
}

function sideBySide(results: readonly Result[]): string {
  const pool = results.find(({ name }) => name === 'pool')!
  const rows = results.map((result) => {
    const times = result.samples.map((sample, i) => pool.samples[i]!.rate / sample.rate)
    const middle = [...times].sort((a, b) => a - b)[times.length >> 1]!
    return [result.name, showSpread(result.rate), showSpread(result.cpu), middle.toFixed(1)]
  })
  return table(['', 'ops/s', 'CPU, bare to it', 'the pool is faster by'], rows)
}

/** The table of the README: the workloads, then the others at one of them. */
function inShort(): string {
  const ours = results.filter(({ name }) => name === 'pool')
  const others = peers.filter(({ name }) => name !== 'bare' && name !== 'pool' && name !== 'sendCommand')
  return table(
    ['operations per second, bare node-redis = 1', 'median (min–max)', 'CPU, bare to it'],
    [
      ...ours.map(({ task: { label }, rate, cpu }) => [`pool: ${label}`, showSpread(rate), showSpread(cpu)]),
      ...others.map(({ name, rate, cpu }) => [`${name}: get@256`, showSpread(rate), showSpread(cpu)]),
    ],
  )
}

function micro(name: string): string {
  const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url))
  const { stdout } = spawnSync(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  return `\`\`\`text\n${stdout.toString().trimEnd()}\n\`\`\``
}
