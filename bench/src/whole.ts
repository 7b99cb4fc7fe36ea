import { showSpread, spread, table, thousands } from './figures.js'
import { Fleet } from './fleet.js'
import { fill, startServers } from './servers.js'

/** What a pool costs as a whole: doing nothing, starting, and after millions of commands. */
export interface WholeSettings {
  readonly rounds: number
  readonly idleMs: number
  readonly commands: number
}

const SETTLED_MS = 25_000

export async function measureWhole({ rounds, idleMs, commands }: WholeSettings): Promise<string> {
  const rows: string[][] = []
  const many = await startServers(16, 3)
  try {
    rows.push(...(await coldStart(many.servers, rounds)))
    const idle = await Fleet.start(['pool', 'bare'], many.servers)
    try {
      for (const name of ['pool', 'bare']) {
        // V8 collects what a start has left behind twice in the seconds after it, 60 ms each; what is asked is how it goes on.
        await idle.run(name, { workload: 'idle', inFlight: 0, ms: SETTLED_MS, size: 0 })
        const share = spread(await repeat(3, async () => (await run(idle, name, 'idle', idleMs)).cpu / 1e4))
        rows.push([`idle, 16 shards and 3 sentinels, ${name}: % of one core`, showSpread(share)])
      }
    } finally {
      idle.close()
    }
  } finally {
    await many.close()
  }
  rows.push(...(await heapAfter(commands)))
  return table(['', 'median (min–max)'], rows)
}

type Servers = Awaited<ReturnType<typeof startServers>>['servers']

async function coldStart(servers: Servers, rounds: number): Promise<string[][]> {
  const times: Record<'pool' | 'bare', number[]> = { pool: [], bare: [] }
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? (['pool', 'bare'] as const) : (['bare', 'pool'] as const)) {
      const fleet = await Fleet.start([name], servers)
      times[name].push(fleet.connectMs.get(name)!)
      fleet.close()
    }
  }
  const ratio = times.pool.map((ms, i) => ms / times.bare[i]!)
  return [
    ['cold start of 16 shards, pool (3 sentinels, every master verified): ms', showSpread(spread(times.pool), 0)],
    ['cold start of 16 bare clients: ms', showSpread(spread(times.bare), 0)],
    ['cold start, pool to bare: times', showSpread(spread(ratio))],
  ]
}

async function heapAfter(commands: number): Promise<string[][]> {
  const { servers, close } = await startServers(4, 1)
  const fleet = await Fleet.start(['pool'], servers)
  try {
    await fill(servers, 32)
    const heapAfterMore = async (count: number): Promise<string> => {
      let heap = 0
      for (let done = 0; done < count; ) {
        const sample = await run(fleet, 'pool', 'get', 1_000)
        done += sample.rate
        heap = sample.heap
      }
      return (heap / 2 ** 20).toFixed(2)
    }
    // What V8 compiles and learns of the code is on the heap too: by then it has done so.
    const warmUp = commands / 4
    return [
      [`heap of the process after ${thousands(warmUp)} commands: MB`, await heapAfterMore(warmUp)],
      [`heap after ${thousands(commands)} more: MB`, await heapAfterMore(commands)],
      [`heap after ${thousands(commands)} more: MB`, await heapAfterMore(commands)],
    ]
  } finally {
    fleet.close()
    await close()
  }
}

async function run(fleet: Fleet, name: string, workload: string, ms: number) {
  const sample = await fleet.run(name, { workload, inFlight: 256, ms, size: 32, collect: true })
  if (sample === undefined) throw new Error(`'${name}' cannot do '${workload}'`)
  return sample
}

async function repeat<T>(times: number, step: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let i = 0; i < times; i++) all.push(await step())
  return all
}
