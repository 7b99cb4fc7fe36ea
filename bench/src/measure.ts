import type { Sample, Task } from './contract.js'
import { median, type Spread, showSpread, spread, thousands } from './figures.js'
import type { Fleet } from './fleet.js'

export interface MeasuredTask extends Omit<Task, 'ms' | 'collect'> {
  readonly label: string
}

export function task(workload: string, inFlight: number, size = 32): MeasuredTask {
  const label = `${workload}@${inFlight}${size === 32 ? '' : `/${size}`}`
  return { workload, inFlight, size, label }
}

/** The workloads of the table. */
export const MEASURED: readonly MeasuredTask[] = [
  task('get', 1),
  task('get', 16),
  task('get', 256),
  task('get', 1024),
  task('set', 256),
  task('mix', 256),
  task('mget of 50', 16),
  task('pipeline of 100', 4),
  task('watch multi exec', 4),
  task('get', 64, 16_384),
  task('set', 64, 16_384),
  task('get bytes', 256),
  task('set bytes', 256),
]

/** How one contender did in one workload, against the bare client of the same rounds. */
export interface Result {
  readonly task: MeasuredTask
  readonly name: string
  /** Operations per second, this to the bare client. Above 1 is faster. */
  readonly rate: Spread
  /** CPU per operation, the bare client's to this. Above 1 is cheaper. */
  readonly cpu: Spread
  /** The same of the least disturbed slice of each round. */
  readonly leastCpu: Spread
  /** µs of CPU per operation: the median of the rounds, each by its least disturbed slice. */
  readonly cost: number
  readonly samples: readonly Sample[]
}

export interface MeasureSettings {
  readonly rounds: number
  readonly slices: number
  /** Length of a slice. */
  readonly ms: number
  /** The first is the measure. */
  readonly names: readonly string[]
}

export async function measureAll(
  fleet: Fleet,
  tasks: readonly MeasuredTask[],
  { ms, ...settings }: MeasureSettings,
): Promise<Result[]> {
  const results: Result[] = []
  for (const one of tasks) {
    const samples = await fleet.rounds({ ...one, ms }, settings)
    const measure = samples.get(settings.names[0]!)!
    for (const [name, own] of samples) {
      results.push({
        task: one,
        name,
        rate: spread(own.map((sample, i) => sample.rate / measure[i]!.rate)),
        cpu: spread(own.map((sample, i) => measure[i]!.cpu / sample.cpu)),
        leastCpu: spread(own.map((sample, i) => measure[i]!.least / sample.least)),
        cost: median(own.map((sample) => sample.least)),
        samples: own,
      })
    }
  }
  return results
}

export const HEAD = [
  '',
  'ops/s to bare',
  'CPU, bare to it',
  'its least',
  'ops/s',
  'µs CPU',
  'least',
  'p50 ms',
  'p99 ms',
]

/** Rows under `HEAD`: who and what, the ratios with min–max, then the plain figures as medians. */
export function rowsOf(results: readonly Result[]): string[][] {
  return results.map(({ task: { label }, name, rate, cpu, leastCpu, samples }) => {
    const of = (field: keyof Sample) => median(samples.map((sample) => sample[field]))
    return [
      `${label} ${name.replace(/dist=.*\/([^/]+)\/index\.js/, '$1')}`,
      showSpread(rate),
      showSpread(cpu),
      showSpread(leastCpu),
      thousands(of('rate')),
      of('cpu').toFixed(2),
      of('least').toFixed(2),
      of('p50').toFixed(2),
      of('p99').toFixed(2),
    ]
  })
}
