/**
 * What routing costs by itself: the pool's commands over stub shards that answer at once, so no socket and no server is
 * timed. Prints nanoseconds and operations per second of each call, the median of interleaved rounds.
 *
 *     node bench/start.mjs router.bench           ROUNDS=9 CALLS=400000 DEPTH=256
 */
import { nsPerCall, routedStubs } from './routing.js'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const CALLS = Number(process.env.CALLS ?? 400_000)
const DEPTH = Number(process.env.DEPTH ?? 256)
const SHARDS = Number(process.env.SHARDS ?? 4)

const { client, shards } = routedStubs(SHARDS)

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

const results = new Map<string, number[]>(Object.keys(cases).map((name) => [name, []]))
for (let r = 0; r <= ROUNDS; r++) {
  for (const [name, { run, share = 1 }] of Object.entries(cases)) {
    const ns = await nsPerCall(run, CALLS / share, DEPTH)
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
