/*
 * One contender in a process of its own: its CPU time and heap are its own, and so is what V8 learned of its code. The
 * parent lets only one worker run at a time.
 */
import { performance } from 'node:perf_hooks'
import { locator } from './contenders/bare.js'
import { findContender } from './contenders/index.js'
import type { Contender, Sample, Servers, Task } from './contract.js'
import { percentile } from './figures.js'
import { BESIDE, isTransaction, makeKeys, transactionLane, WORKLOADS } from './workloads.js'

const keys = makeKeys()
const EVERY = 8

async function main(): Promise<void> {
  const [name, json] = process.argv.slice(2)
  const servers = JSON.parse(json!) as Servers
  const { connect, options } = await findContender(name!)
  const start = performance.now()
  const contender = await connect(servers, options)
  const connectMs = performance.now() - start
  process.on('message', async (task: Task | 'close') => {
    if (task === 'close') {
      await contender.close()
      process.disconnect?.()
      return
    }
    const sample = await measure(contender, servers, task).catch((error: unknown) => ({ error: String(error) }))
    process.send?.(sample ?? 'cannot')
  })
  // A parent that was killed cannot say 'close'; a client that reconnects for ever would outlive it.
  process.on('disconnect', () => process.exit())
  process.send?.({ connectMs })
}

async function measure(contender: Contender, servers: Servers, task: Task): Promise<Sample | undefined> {
  if (task.workload === 'idle') return idle(task)
  const lanes = lanesOf(contender, servers, task)
  if (lanes === undefined) return undefined
  // Untimed: after the others' slices nothing of this process is in the caches of the CPU.
  await drive(lanes, Math.min(30, task.ms / 2))
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  let over = false
  const beside = besideOf(contender, task, () => !over)
  const { done, latencies } = await drive(lanes, task.ms)
  over = true
  await beside
  const seconds = (performance.now() - start) / 1e3
  const { user, system } = process.cpuUsage(cpuBefore)
  latencies.sort((a, b) => a - b)
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)]
  // They are this file's, not the contender's: a megabyte for each million of operations.
  latencies.length = 0
  if (task.collect === true) await collectAll()
  return {
    rate: done / seconds,
    cpu: (user + system) / done,
    least: (user + system) / done,
    p50,
    p99,
    heap: process.memoryUsage().heapUsed,
  }
}

/** Runs the lanes side by side for so long; every eighth operation is timed. */
async function drive(
  lanes: readonly ((turn: number) => Promise<unknown>)[],
  ms: number,
): Promise<{ done: number; latencies: number[] }> {
  const latencies: number[] = []
  let done = 0
  let turn = 0
  let now = performance.now()
  const end = now + ms
  await Promise.all(
    lanes.map(async (operation) => {
      while (now < end) {
        const mine = turn++
        if (mine % EVERY !== 0) {
          await operation(mine)
        } else {
          const sent = performance.now()
          await operation(mine)
          now = performance.now()
          latencies.push(now - sent)
        }
        done++
      }
    }),
  )
  return { done, latencies }
}

/** Once is not enough: what a weak reference or a finalizer held goes with the next one. */
async function collectAll(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Nothing is asked for: the CPU is in µs per second. */
async function idle(task: Task): Promise<Sample> {
  const before = process.cpuUsage()
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, task.ms))
  const { user, system } = process.cpuUsage(before)
  const cpu = ((user + system) * 1e3) / (performance.now() - start)
  return { rate: 0, cpu, least: cpu, p50: 0, p99: 0, heap: process.memoryUsage().heapUsed }
}

/** Two readers of large values, where the workload has some. */
async function besideOf(contender: Contender, { workload }: Task, goesOn: () => boolean): Promise<void> {
  const operation = BESIDE[workload]?.(contender)
  if (operation === undefined) return
  let turn = 0
  const reader = async () => {
    while (goesOn()) await operation(turn++)
  }
  await Promise.all([reader(), reader()])
}

/** What runs side by side: one entry per call in flight. */
function lanesOf(
  contender: Contender,
  servers: Servers,
  task: Task,
): ((turn: number) => Promise<unknown>)[] | undefined {
  if (isTransaction(task)) {
    const locate = locator(servers)
    const lanes = servers.masters.map((_, shard) => {
      return transactionLane(
        contender,
        keys.all.filter((key) => locate(key) === shard),
      )
    })
    return lanes.every((lane) => lane !== undefined) ? lanes : undefined
  }
  const operation = WORKLOADS[task.workload]!.prepare(contender, keys, 'x'.repeat(task.size))
  return operation && new Array(task.inFlight).fill(operation)
}

await main()
