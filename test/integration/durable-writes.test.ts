import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { InvalidOptionsError, NotReplicatedError } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { poolOn, type TestPool } from '../support/pool-on-topology.js'

describe('durable writes', () => {
  let topology: LocalTopology
  let pool: TestPool
  let name: string
  before(async () => {
    topology = await LocalTopology.start({ shards: 1, replicas: 1, sentinels: 1 })
    name = topology.masters[0]!
    pool = poolOn(topology)
    await pool.connect()
  })
  after(async () => {
    await pool?.close()
    await topology?.close()
  })

  it('are on the replica when they resolve', async () => {
    const [replica] = await topology.replicas(name)
    const safe = pool.withReplicaAck({ replicas: 1, timeoutMs: 2_000 })
    for (let i = 0; i < 50; i++) {
      assert.equal(await safe.set(`k${i}`, `v${i}`), 'OK')
      assert.equal(await replica!.command('GET', `k${i}`), `v${i}`)
    }
  })

  it('wait together: a thousand at once take few WAITs, and every reply is its own', async () => {
    const master = await topology.currentMaster(name)
    const waits = async () =>
      Number(/cmdstat_wait:calls=(\d+)/.exec(String(await master.command('INFO', 'commandstats')))?.[1] ?? 0)
    const before = await waits()
    const safe = pool.withReplicaAck({ replicas: 1, timeoutMs: 2_000 })
    const replies = await Promise.all(Array.from({ length: 1_000 }, () => safe.incr('counter')))
    assert.deepEqual(
      replies,
      Array.from({ length: 1_000 }, (_, i) => i + 1),
    )
    assert.ok((await waits()) - before < 20)
  })

  it('reject with the number of replicas that have them when those are too few, and do not hold up ordinary calls', async () => {
    const safe = pool.withReplicaAck({ replicas: 2, timeoutMs: 300 })
    const write = safe.set('x', '1')
    const outcome = write.then(
      () => 'resolved',
      (error: unknown) => error,
    )
    let ended = false
    void outcome.then(() => {
      ended = true
    })
    for (let i = 0; i < 20; i++) await pool.get('x')
    assert.equal(ended, false, 'the ordinary calls went past the WAIT')
    const error = await outcome
    assert.ok(error instanceof NotReplicatedError)
    assert.equal(error.code, 'NOT_REPLICATED')
    assert.equal(error.outcome, 'not-replicated')
    assert.equal(error.acknowledged, 1)
    assert.deepEqual(error.required, { replicas: 2, timeoutMs: 300 })
    assert.equal(await pool.get('x'), '1')
  })

  it('end by their deadline on a frozen master, with an unknown outcome', async () => {
    const master = await topology.currentMaster(name)
    const safe = pool.withReplicaAck({ replicas: 1, timeoutMs: 10_000 }).withCommandOptions({ timeout: 300 })
    await safe.set('warm', '1')
    await master.freeze()
    try {
      const started = performance.now()
      await assert.rejects(safe.set('frozen', '1'), { code: 'COMMAND_TIMEOUT', outcome: 'unknown' })
      assert.ok(performance.now() - started < 600)
    } finally {
      await master.cont()
    }
  })

  it('leave reads as they are, and server errors to the caller', async () => {
    const safe = pool.withReplicaAck({ replicas: 1, timeoutMs: 2_000 })
    assert.equal(await safe.get('x'), '1')
    await assert.rejects(safe.lPush('x', 'y'), /WRONGTYPE/)
  })

  it('refuse settings that make no sense', () => {
    assert.throws(() => pool.withReplicaAck({ replicas: 0, timeoutMs: 1 }), InvalidOptionsError)
    assert.throws(() => pool.withReplicaAck({ replicas: 1, timeoutMs: -1 }), InvalidOptionsError)
  })
})
