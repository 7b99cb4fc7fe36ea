/**
 * What routing costs by itself: the pool's commands over stub shards that answer at once, so no socket and no server is
 * timed. Prints nanoseconds and operations per second of each call, the median of interleaved rounds.
 *
 *     node bench/start.mjs router.bench           ROUNDS=9 CALLS=400000 DEPTH=256
 */
import { RoutedClient } from '../dist/library/commands/routed-client.js'
import type { RoutingContext } from '../dist/library/commands/routing-context.js'
import { ConnectionFactory, type RedisArgument } from '../dist/library/redis-client.js'
import { createRing } from '../dist/library/ring/index.js'
import type { LeasePort, ShardPort } from '../dist/library/shard/call.js'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const CALLS = Number(process.env.CALLS ?? 400_000)
const DEPTH = Number(process.env.DEPTH ?? 256)
const SHARDS = Number(process.env.SHARDS ?? 4)

/** Answers in the next microtask, as a socket's reply would come in some later one. */
class EmptyShard implements ShardPort {
  readonly name: string
  readonly index: number
  readonly clock = { now: 0 }
  settled = 0
  constructor(index: number) {
    this.index = index
    this.name = `shard-${index}`
  }
  send(words: readonly RedisArgument[]): Promise<unknown> {
    return words[0] === 'MGET' ? Promise.resolve(words.slice(1)) : Promise.resolve('OK')
  }
  recover(error: unknown): Promise<unknown> {
    return Promise.reject(error)
  }
  sendBatch(commands: readonly (readonly RedisArgument[])[]): Promise<readonly unknown[]> {
    return Promise.resolve(commands.map((words) => (words[0] === 'EXEC' ? commands.slice(2) : 'QUEUED')))
  }
  acquire(): Promise<LeasePort> {
    return Promise.reject(new Error('no leases here'))
  }
}

type None = Record<never, never>
class Client extends RoutedClient<None, None, None, 3, None> {
  constructor(context: RoutingContext) {
    super(context)
  }
}

const shards = Array.from({ length: SHARDS }, (_, index) => new EmptyShard(index))
const client = new Client({
  ring: createRing({ shards: shards.map(({ name }) => ({ name })) }),
  shards,
  template: new ConnectionFactory().template(),
  waitUntilOpen: () => undefined,
})

const keys = Array.from({ length: 1024 }, (_, i) => `session:${i * 7919}:data`)
const fifty = keys.slice(0, 50)
const hundred = keys.slice(0, 100)
const view = client.withCommandOptions({ timeout: 100 })
let turn = 0
const key = () => keys[turn++ & 1023]!

const cases: Record<string, { run: () => Promise<unknown>; share?: number }> = {
  'floor: one async call of a stub': { run: async () => await shards[0]!.send(['GET', key()]) },
  get: { run: () => client.get(key()) },
  'get through a view': { run: () => view.get(key()) },
  set: { run: () => client.set(key(), 'value') },
  'set with options': { run: () => client.set(key(), 'value', { expiration: { type: 'EX', value: 60 } }) },
  hGetAll: { run: () => client.hGetAll(key()) },
  zAdd: { run: () => client.zAdd(key(), { score: 1, value: 'm' }) },
  'raw GET': { run: () => client.sendCommand(['GET', key()]) },
  'mGet of 50': { run: () => client.mGet(fifty), share: 20 },
  'multi of 3': { run: () => client.multi().get('{k}a').incr('{k}b').get('{k}c').exec(), share: 10 },
  'pipeline of 100': {
    run: () => {
      const pipeline = client.pipeline()
      for (const one of hundred) pipeline.get(one)
      return pipeline.exec()
    },
    share: 100,
  },
}

async function round(run: () => Promise<unknown>, calls: number): Promise<number> {
  const start = process.hrtime.bigint()
  for (let done = 0; done < calls; done += DEPTH) {
    const batch: Promise<unknown>[] = []
    for (let i = 0; i < DEPTH; i++) batch.push(run())
    await Promise.all(batch)
  }
  return Number(process.hrtime.bigint() - start) / (Math.ceil(calls / DEPTH) * DEPTH)
}

const results = new Map<string, number[]>(Object.keys(cases).map((name) => [name, []]))
for (let r = 0; r <= ROUNDS; r++) {
  for (const [name, { run, share = 1 }] of Object.entries(cases)) {
    const ns = await round(run, CALLS / share)
    // The first round warms up.
    if (r > 0) results.get(name)!.push(ns)
  }
}

console.log(`node ${process.version}, ${SHARDS} shards, ${DEPTH} calls in flight, ${ROUNDS} rounds`)
for (const [name, times] of results) {
  times.sort((a, b) => a - b)
  const median = times[times.length >> 1]!
  const range = `${times[0]!.toFixed(0)}–${times.at(-1)!.toFixed(0)}`
  console.log(
    `${name.padEnd(34)} ${median.toFixed(0).padStart(7)} ns  ${range.padStart(15)}  ${Math.round(1e9 / median)
      .toLocaleString('en')
      .padStart(12)} /s`,
  )
}
