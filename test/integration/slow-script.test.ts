import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

/** Keeps the server busy for so many ms of its own time. */
const BUSY = `
local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local start = now()
while now() - start < tonumber(ARGV[1]) do end
return redis.call('INCR', KEYS[1])`
const POOL_MS = 1_000
const SCRIPT_MS = 3_500

describe("a Lua script that takes longer than the pool's commandTimeoutMs", () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({
      shards: ['cache-a', 'cache-b'],
      replicas: 0,
      sentinels: 1,
      downAfterMs: 30_000,
    })
    const node = await topology.currentMaster('cache-a')
    await node.command('CONFIG', 'SET', 'busy-reply-threshold', '1500')
    pool = await poolOn(topology, { commandTimeoutMs: POOL_MS }).connect()
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  it('answers a caller who gave it the time, ran once, and holds the others no longer than their own', async () => {
    const key = keyOf(pool, 'cache-a')
    const startedAt = performance.now()
    const script = pool
      .withCommandOptions({ timeout: 20_000 })
      .eval(BUSY, { keys: [`${key}count`], arguments: [String(SCRIPT_MS)] })
    script.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 100))
    const since = performance.now()
    const others = await Promise.allSettled([pool.get(key), pool.set(key, 'v')])
    const tookMs = performance.now() - since
    assert.ok(others.every(({ status }) => status === 'rejected'))
    assert.ok(tookMs < POOL_MS + 500, `${tookMs} ms`)
    assert.equal(await pool.set(keyOf(pool, 'cache-b'), 'v'), 'OK')
    assert.equal(await script, 1)
    assert.ok(performance.now() - startedAt >= SCRIPT_MS - 50)
    await until('the shard to be back', async () => {
      return pool.get(`${key}count`).then(
        (count) => count === '1',
        () => false,
      )
    })
    assert.equal(pool.stats().shards[0]!.failovers, 0)
  })

  it('a server that answers nobody for a second loses no subscription', async () => {
    await using patient = await poolOn(topology, { commandTimeoutMs: 5_000, heartbeatMs: 200 }).connect()
    const key = keyOf(patient, 'cache-a')
    const gaps: unknown[] = []
    const heard: string[] = []
    patient.on('subscription-gap', (gap) => gaps.push(gap))
    await patient.subscribe(key, (message) => heard.push(message))
    assert.equal(await patient.eval(BUSY, { keys: [`${key}slow`], arguments: ['1400'] }), 1)
    await patient.publish(key, 'after')
    await until('the message', () => heard.length === 1)
    assert.deepEqual(gaps, [])
    assert.equal(patient.stats().shards[0]!.reconnects, 0)
  })
})
