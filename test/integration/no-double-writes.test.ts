import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolOn, type TestPool, valuesOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

interface Counter {
  readonly key: string
  acknowledged: number
  unknown: number
  refused: number
}

describe('INCR goes on while one shard fails over again and again', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a'], replicas: 2 })
    pool = poolOn(topology, { commandTimeoutMs: 3_000 })
    await pool.connect()
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  const harms = ['ordered', 'killed', 'frozen', 'ordered', 'killed'] as const
  it('no counter ever exceeds acknowledged + unknown', { timeout: 120_000 }, async () => {
    const tag = keyOf(pool, 'cache-a')
    const counters = Array.from({ length: 20 }, (_, i): Counter => {
      return { key: `${tag}:${i}`, acknowledged: 0, unknown: 0, refused: 0 }
    })
    let stopped = false
    const unexpected: unknown[] = []
    const workers = counters.map(async (counter) => {
      while (!stopped) {
        try {
          await pool.incr(counter.key)
          counter.acknowledged++
        } catch (error) {
          const { outcome } = error as { outcome?: string }
          if (outcome === 'unknown') counter.unknown++
          else if (outcome === 'not-sent') counter.refused++
          else unexpected.push(error)
        }
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })
    for (const harm of harms) {
      const total = () => counters.reduce((sum, counter) => sum + counter.acknowledged, 0)
      const before = total()
      await until('some traffic', () => total() > before + 200)
      const followed = nextEvent(pool, 'failover')
      let harmed = await topology.currentMaster('cache-a')
      if (harm === 'ordered') harmed = (await topology.failover('cache-a', { until: 'agreed' })).from
      else if (harm === 'killed') await harmed.kill()
      else harmed.freeze()
      await followed
      await topology.waitForSwitch('cache-a', harmed)
      // What went to the old master after the promotion is lost when it comes back as a replica: never counted twice.
      if (harm === 'killed') await harmed.restart()
      if (harm === 'frozen') harmed.cont()
      await topology.waitUntilSettled({ hurry: true })
      await check(counters)
    }
    stopped = true
    await Promise.all(workers)
    await check(counters)
    assert.deepEqual(unexpected, [])
    assert.equal(pool.stats().shards[0]!.failovers, harms.length)
  })

  /** Counts are read first and what was acknowledged after: traffic goes on meanwhile. */
  async function check(counters: readonly Counter[]): Promise<void> {
    const values = await valuesOn(
      await topology.currentMaster('cache-a'),
      counters.map((counter) => counter.key),
    )
    const inFlight = 1
    counters.forEach(({ key, acknowledged, unknown }, i) => {
      const value = Number(values[i])
      assert.ok(
        value <= acknowledged + unknown + inFlight,
        `${key} is ${value}, more than ${acknowledged} acknowledged + ${unknown} unknown`,
      )
    })
  }
})
