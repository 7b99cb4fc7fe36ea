import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { keyOf, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

interface Pace {
  readonly perSecond: number
  readonly p99Ms: number
  readonly errors: number
}

const MEASURE_MS = 1_500
const CALLERS = 8

/** Callers of some shards as quick as they are answered, and how they fare over a while. */
async function pace(pool: TestPool, shards: readonly string[]): Promise<Pace> {
  const times: number[] = []
  let errors = 0
  const end = performance.now() + MEASURE_MS
  const call = async (key: string) => {
    while (performance.now() < end) {
      const since = performance.now()
      await pool.set(key, 'value').catch(() => errors++)
      times.push(performance.now() - since)
    }
  }
  await Promise.all(shards.flatMap((shard) => Array.from({ length: CALLERS }, () => call(keyOf(pool, shard)))))
  times.sort((a, b) => a - b)
  return { perSecond: times.length / (MEASURE_MS / 1_000), p99Ms: times[Math.floor(times.length * 0.99)]!, errors }
}

/** Callers of the sick shard go on all the while: what they wait for must not be paid by others. */
function pester(pool: TestPool, shard: string): () => Promise<void> {
  let stopped = false
  const key = keyOf(pool, shard)
  const work = Array.from({ length: 50 }, async () => {
    while (!stopped) {
      await pool.set(key, 'value').catch(() => {})
      // One event loop serves all: what is compared is what the shard costs, not what its callers' own errors cost.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  return async () => {
    stopped = true
    await Promise.all(work)
  }
}

describe('one shard in trouble', () => {
  let topology: LocalTopology
  let pool: TestPool
  let sick: string
  let master: TopologyNode
  let others: string[]
  before(async () => {
    // Sentinels that are in no hurry: the trouble must last.
    topology = await LocalTopology.start({ shards: 3, replicas: 0, downAfterMs: 3_600_000 })
    ;[sick, ...others] = topology.masters as [string, ...string[]]
    master = topology.shard(sick).nodes[0]!
    pool = poolOn(topology, { commandTimeoutMs: 1_000, maxInFlight: 2_000 })
    await pool.connect()
    // The compiler's warm-up is nobody's trouble.
    await pace(pool, others)
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })

  const isDown = () => until('the shard to be down', () => pool.stats().shards[0]!.state === 'rebuilding')
  const isWell = () => until('the shard to be well', () => pool.isReady, 20_000)

  const troubles: Record<string, { harm(): Promise<unknown>; mend(): Promise<unknown> }> = {
    'is frozen': {
      harm: async () => master.freeze(),
      mend: async () => master.cont(),
    },
    'is down': {
      harm: () => master.kill().then(isDown),
      mend: () => master.start(),
    },
    'takes no more clients': {
      async harm() {
        await master.command('CONFIG', 'SET', 'maxclients', '1')
        await master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
        await isDown()
      },
      mend: () => master.command('CONFIG', 'SET', 'maxclients', '10000'),
    },
    'has more calls than it has room for': {
      async harm() {
        master.freeze()
        const key = keyOf(pool, sick)
        for (let i = 0; i < 5_000; i++) pool.set(key, 'value').catch(() => {})
      },
      mend: async () => master.cont(),
    },
  }

  for (const [what, { harm, mend }] of Object.entries(troubles)) {
    it(`that ${what} leaves the others' throughput, p99 and errors as they were`, { timeout: 60_000 }, async (t) => {
      const well = await pace(pool, others)
      const stop = pester(pool, sick)
      let ill: Pace
      try {
        await harm()
        ill = await pace(pool, others)
      } finally {
        await mend()
      }
      await stop()
      await isWell()
      const again = await pace(pool, others)
      t.diagnostic(JSON.stringify({ well, ill, again }))
      assert.equal(ill.errors, 0)
      // The machine is shared: measured before and after, and compared with the slower of the two.
      const usual = Math.min(well.perSecond, again.perSecond)
      assert.ok(ill.perSecond > usual * 0.4, `${ill.perSecond} of ${usual} calls a second`)
      const usualP99 = Math.max(well.p99Ms, again.p99Ms)
      assert.ok(ill.p99Ms < usualP99 * 4 + 20, `p99 ${ill.p99Ms} ms instead of ${usualP99}`)
    })
  }
})
