import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Sample, Servers, Task } from './contract.js'
import { median } from './figures.js'

const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url))

const WARM_UP_MS = Number(process.env.WARM_UP_MS ?? 1_000)

export interface RoundSettings {
  readonly rounds: number
  readonly slices: number
  readonly names: readonly string[]
}

/** Workers of some contenders, asked one at a time so that all share the machine's good and bad moments. */
export class Fleet {
  readonly #workers = new Map<string, ChildProcess>()
  /** How long each took to connect, in ms. */
  readonly connectMs = new Map<string, number>()

  static async start(names: readonly string[], servers: Servers, execArgv: readonly string[] = []): Promise<Fleet> {
    const fleet = new Fleet()
    try {
      for (const name of names) await fleet.#add(name, servers, execArgv)
      return fleet
    } catch (error) {
      fleet.close()
      throw error
    }
  }

  /**
   * The samples of every contender, round by round: `samples[i]` of all are from one round. A round is made of short slices,
   * turn by turn, and its figures are their medians: where other programs run too, a disturbance then hits a slice or two of
   * everybody and not the whole round of one.
   */
  async rounds(task: Task, { rounds, slices, names }: RoundSettings): Promise<Map<string, Sample[]>> {
    const samples = new Map<string, Sample[]>(names.map((name) => [name, []]))
    // V8 compiles what runs often: without this a slow workload would be measured in its interpreter.
    for (const name of names) {
      if ((await this.run(name, { ...task, ms: WARM_UP_MS })) === undefined) samples.delete(name)
    }
    for (let round = 0; round < rounds; round++) {
      const parts = new Map<string, Sample[]>([...samples.keys()].map((name) => [name, []]))
      for (let slice = 0; slice < slices; slice++) {
        const order = [...parts.keys()]
        if (slice % 2 === 1) order.reverse()
        for (const name of order) {
          const sample = await this.run(name, { ...task, collect: slice === slices - 1 })
          if (sample !== undefined) parts.get(name)!.push(sample)
        }
      }
      for (const [name, list] of samples) list.push(middle(parts.get(name)!))
    }
    return samples
  }

  /** Undefined where this contender cannot do it. */
  async run(name: string, task: Task): Promise<Sample | undefined> {
    const worker = this.#workers.get(name)!
    worker.send(task)
    const answer = await nextMessage(worker, name)
    if (answer === 'cannot') return undefined
    if (typeof answer === 'object' && answer !== null && 'error' in answer) throw new Error(`${name}: ${answer.error}`)
    return answer as Sample
  }

  close(): void {
    for (const worker of this.#workers.values()) {
      if (worker.connected) worker.send('close')
      // One that does not end by itself is no reason to wait.
      setTimeout(() => worker.kill('SIGKILL'), 2_000).unref()
    }
    this.#workers.clear()
  }

  async #add(name: string, servers: Servers, execArgv: readonly string[]): Promise<void> {
    const worker = fork(WORKER, [name, JSON.stringify(servers)], { execArgv: ['--expose-gc', ...execArgv] })
    this.#workers.set(name, worker)
    const { connectMs } = (await nextMessage(worker, name)) as { connectMs: number }
    this.connectMs.set(name, connectMs)
  }
}

function middle(parts: readonly Sample[]): Sample {
  const of = (field: keyof Sample) => median(parts.map((part) => part[field]))
  const least = Math.min(...parts.map(({ cpu }) => cpu))
  return { rate: of('rate'), cpu: of('cpu'), least, p50: of('p50'), p99: of('p99'), heap: parts.at(-1)!.heap }
}

async function nextMessage(worker: ChildProcess, name: string): Promise<unknown> {
  const over = new AbortController()
  try {
    return await Promise.race([
      once(worker, 'message', over).then(([message]) => message as unknown),
      once(worker, 'exit', over).then(([code]) => {
        throw new Error(`the worker of '${name}' ended with code ${code}`)
      }),
    ])
  } finally {
    over.abort()
  }
}
