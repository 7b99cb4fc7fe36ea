/*
 * Figures for two choices: how many shared connections of a shard pay, and whether large values should go round the shared
 * one. With `--write` they go into docs/performance.md.
 *
 * From the environment: ROUNDS (5), SLICES (6), MS of a slice (60), WARM_UP_MS (1000).
 */
import { conditions, publish } from './document.js'
import { median, showSpread, table } from './figures.js'
import { Fleet } from './fleet.js'
import { measureAll, type Result, task } from './measure.js'
import { fill, fillLarge, startServers } from './servers.js'

const env = (name: string, fallback: number) => Number(process.env[name] ?? fallback)
const settings = { rounds: env('ROUNDS', 5), slices: env('SLICES', 6), ms: env('MS', 60) }
const names = ['pool', 'pool?sharedConnections=2', 'pool?sharedConnections=4']

function rows(results: readonly Result[]): string[][] {
  return results.map(({ task: { workload, inFlight, size }, name, rate, cpu, samples }) => [
    `${workload} of ${size} B, ${inFlight} in flight: ${/=(\d)/.exec(name)?.[1] ?? 1}`,
    showSpread(rate),
    showSpread(cpu),
    median(samples.map(({ p50 }) => p50)).toFixed(2),
    median(samples.map(({ p99 }) => p99)).toFixed(2),
  ])
}

const { servers, close } = await startServers(4, 0)
const fleet = await Fleet.start(names, servers)
try {
  const results: Result[] = []
  for (const one of [task('get', 16), task('get', 256), task('get', 1024), task('get', 64, 16_384)]) {
    await fill(servers, one.size)
    results.push(...(await measureAll(fleet, [one], { ...settings, names })))
  }
  const head = (first: string) => [first, 'ops/s', 'CPU, 1 to it', 'p50 ms', 'p99 ms']
  publish(
    'shared connections',
    'Shared connections per shard; 1 is one of them',
    table(head('connections'), rows(results)),
  )
  await fill(servers, 32)
  await fillLarge(servers)
  const beside: Result[] = []
  for (const workload of ['get', 'get beside large', 'get beside large apart']) {
    beside.push(...(await measureAll(fleet, [task(workload, 16)], { ...settings, names })))
  }
  publish(
    'large values',
    'GETs of 32 B while two callers read values of 1 MB: not at all, on the shared connection, on one of their own',
    table(head('connections'), rows(beside)),
  )
  publish('choices conditions', 'Conditions', conditions('npm run choices --prefix bench -- --write'))
} finally {
  fleet.close()
  await close()
}
