/*
 * How the cost of a command grows with the number of shards, of calls in flight and of characters in a value: CPU time per
 * GET of the pool and of the bare client, as a table and, with `--write`, as docs/growth.svg.
 *
 * From the environment: ROUNDS (5), SLICES (6), MS of a slice (50), WARM_UP_MS (1000), SERVERS (8).
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Servers } from './contract.js'
import { conditions, publish, WRITES } from './document.js'
import { showSpread, table } from './figures.js'
import { Fleet } from './fleet.js'
import { type MeasuredTask, measureAll, type Result, task } from './measure.js'
import { routingCosts } from './routing.js'
import { fill, startServers } from './servers.js'
import { type Panel, plot } from './svg.js'

const env = (name: string, fallback: number) => Number(process.env[name] ?? fallback)
const settings = { rounds: env('ROUNDS', 5), slices: env('SLICES', 6), ms: env('MS', 50), names: ['bare', 'pool'] }
/** Per shard, so that every flush of a connection holds as many commands whatever the number of shards. */
const PER_SHARD = 32
const SHARDS = [1, 2, 4, 8, 16, 32, 64]
const IN_FLIGHT = [1, 4, 16, 64, 256, 1024]
const SIZES = [32, 256, 1024, 4096, 16_384, 65_536]

/** So many shards on fewer servers: each has connections of its own, which is all that the client sees of it. */
function shardsOn({ masters }: Servers, count: number): Servers {
  const shards = Array.from({ length: count }, (_, i) => ({ ...masters[i % masters.length]!, name: `shard-${i}` }))
  return { masters: shards, sentinels: [] }
}

async function measure(servers: Servers, tasks: readonly MeasuredTask[]): Promise<Result[]> {
  const fleet = await Fleet.start(settings.names, servers)
  const results: Result[] = []
  try {
    for (const one of tasks) {
      await fill(servers, one.size)
      results.push(...(await measureAll(fleet, [one], settings)))
    }
    return results
  } finally {
    fleet.close()
  }
}

function panel(
  title: string,
  scale: Panel['scale'],
  xLabel: string,
  xs: readonly number[],
  results: readonly Result[],
): Panel {
  const line = (name: string) =>
    results.filter((result) => result.name === name).map(({ cost }, i) => [xs[i]!, cost] as const)
  return {
    title,
    scale,
    xLabel,
    lines: [
      { label: 'pool', tone: 'ours', points: line('pool') },
      { label: 'bare node-redis', tone: 'theirs', points: line('bare') },
    ],
  }
}

function rows(
  what: string,
  xs: readonly number[],
  results: readonly Result[],
  routing?: readonly number[],
): string[][] {
  const of = (name: string) => results.filter((result) => result.name === name)
  const bare = of('bare')
  return of('pool').map((result, i) => [
    `${xs[i]!.toLocaleString('en')} ${what}`,
    result.cost.toFixed(2),
    bare[i]!.cost.toFixed(2),
    showSpread(result.cpu),
    showSpread(result.rate),
    routing?.[i]?.toFixed(2) ?? '',
  ])
}

const { servers, close } = await startServers(env('SERVERS', 8), 0)
try {
  const byShards: Result[] = []
  for (const count of SHARDS)
    byShards.push(...(await measure(shardsOn(servers, count), [task('get', PER_SHARD * count)])))
  const four = shardsOn(servers, 4)
  const byFlight = await measure(
    four,
    IN_FLIGHT.map((count) => task('get', count)),
  )
  const bySize = await measure(
    four,
    SIZES.map((size) => task('get', 64, size)),
  )
  const text = table(
    ['GET', 'pool: µs CPU', 'bare: µs CPU', 'CPU, bare to pool', 'ops/s, pool to bare', 'pool without sockets: µs'],
    [
      ...rows(`shards (${PER_SHARD} in flight on each, 32 B)`, SHARDS, byShards, await routingCosts(SHARDS)),
      ...rows('in flight (4 shards, 32 B)', IN_FLIGHT, byFlight),
      ...rows('characters (4 shards, 64 in flight)', SIZES, bySize),
    ],
  )
  publish('growth', 'Growth; the ratios are above 1 where the pool is better', text)
  publish('growth conditions', 'Conditions', conditions('npm run bench:growth -- --write'))
  const svg = plot('CPU time of one GET', 'µs of CPU', [
    panel('by shards', 'linear', `shards (${PER_SHARD} in flight on each, 32 B)`, SHARDS, byShards),
    panel('by calls in flight', 'log', 'in flight (4 shards, 32 B)', IN_FLIGHT, byFlight),
    panel('by size of the value', 'log', 'characters (4 shards, 64 in flight)', SIZES, bySize),
  ])
  if (WRITES) writeFileSync(fileURLToPath(new URL('../../docs/growth.svg', import.meta.url)), svg)
} finally {
  await close()
}
