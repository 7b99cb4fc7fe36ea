import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { InvalidOptionsError, NotReplicatedError } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

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

  it('can be a transaction, a pipeline, or a blocking command', async () => {
    const [replica] = await topology.replicas(name)
    const safe = pool.withReplicaAck({ replicas: 1, timeoutMs: 2_000 })
    assert.deepEqual(await safe.multi().set('{m}a', '1').incr('{m}n').get('{m}a').exec(), ['OK', 1, '1'])
    assert.equal(await replica!.command('GET', '{m}n'), '1')
    assert.deepEqual(await safe.multi().set('p1', '1').incr('p2').execAsPipeline(), ['OK', 1])
    assert.equal(await replica!.command('GET', 'p2'), '1')
    await pool.rPush('{q}from', ['x', 'y'])
    assert.equal(await safe.blMove('{q}from', '{q}to', 'LEFT', 'LEFT', 1), 'x')
    assert.equal(String(await replica!.command('LRANGE', '{q}to', '0', '-1')), 'x')
    assert.equal(await safe.blPop('{q}nothing', 0.05), null)
  })

  it('of every kind reject when too few replicas have them, and say what the master did', async () => {
    const safe = pool.withReplicaAck({ replicas: 2, timeoutMs: 100 })
    const code = 'NOT_REPLICATED'
    const outcome = 'not-replicated'
    const transaction = safe.multi().set('{m}a', '2').incr('{m}n').exec()
    await assert.rejects(transaction, { code, outcome, acknowledged: 1, command: 'MULTI' })
    await assert.rejects(safe.multi().set('p1', '2').incr('p2').execAsPipeline(), { code, outcome, acknowledged: 1 })
    await assert.rejects(safe.pipeline().set('p1', '2').get('p2').exec(), { code, outcome })
    await assert.rejects(safe.blPop('{q}to', 1), { code, outcome, acknowledged: 1, command: 'BLPOP' })
    assert.deepEqual(await pool.mGet(['{m}a', '{m}n', 'p1', 'p2']), ['2', '2', '2', '2'])
    assert.equal(await pool.exists('{q}to'), 0)
    // Nothing was written, so there is nothing to have.
    assert.deepEqual(await safe.multi().get('{m}a').exec(), ['2'])
    await pool.set('{m}text', 'x')
    await assert.rejects(safe.pipeline().lPush('{m}text', 'y').exec(), /WRONGTYPE/)
    await until('the connection to be back', () => pool.stats().shards[0]!.leases.borrowed === 0)
  })

  it('end by the deadline and the signal of their call, whatever they wait for', async () => {
    const safe = pool.withReplicaAck({ replicas: 2, timeoutMs: 4_000 })
    const ended = async (call: Promise<unknown>, expected: object) => {
      const since = performance.now()
      await assert.rejects(call, expected)
      const tookMs = performance.now() - since
      assert.ok(tookMs < 800, `${tookMs} ms`)
    }
    await pool.rPush('{q}deadline', ['x', 'y', 'z'])
    const hurried = safe.withCommandOptions({ timeout: 500 })
    await ended(hurried.blPop('{q}deadline', 1), { code: 'NOT_REPLICATED', acknowledged: 1 })
    await ended(hurried.multi().incr('{m}n').exec(), { code: /NOT_REPLICATED|COMMAND_TIMEOUT/ })
    const gone = new AbortController()
    const aborted = safe.withAbortSignal(gone.signal).blPop('{q}deadline', 1)
    setTimeout(() => gone.abort(), 300)
    await ended(aborted, { message: 'The command was aborted' })
    assert.equal(await pool.lLen('{q}deadline'), 1)
  })

  it('as many as there is room for go together, whatever maxInFlight, and leave their connection as it was', async () => {
    await using small = await poolOn(topology, { maxInFlight: 8 }).connect()
    const safe = small.withReplicaAck({ replicas: 1, timeoutMs: 2_000 })
    const master = await topology.currentMaster(name)
    await pool.del('small')
    await safe.incr('small')
    const made = async () =>
      Number(/total_connections_received:(\d+)/.exec(String(await master.command('INFO', 'stats')))?.[1])
    const before = await made()
    const counts = await Promise.all(Array.from({ length: 12 }, () => safe.incr('small')))
    assert.deepEqual(
      counts,
      Array.from({ length: 12 }, (_, i) => i + 2),
    )
    for (let i = 0; i < 20; i++) await safe.multi().incr('small').get('small').exec()
    assert.equal(await small.get('small'), '33')
    const most = safe.multi()
    for (let i = 0; i < 7; i++) most.incr('small')
    await assert.rejects(most.exec(), { code: 'SHARD_UNAVAILABLE', reason: 'too-many-in-flight' })
    assert.equal(await small.get('small'), '33')
    assert.equal((await made()) - before, 0)
  })

  it('that ask for more hold up none that ask for less', async () => {
    const patient = pool.withReplicaAck({ replicas: 2, timeoutMs: 1_500 }).set('patient', '1')
    const told = assert.rejects(patient, { code: 'NOT_REPLICATED', acknowledged: 1 })
    const quick = pool.withReplicaAck({ replicas: 1, timeoutMs: 200 })
    const since = performance.now()
    for (let i = 0; i < 5; i++) assert.equal(await quick.set('quick', String(i)), 'OK')
    const tookMs = performance.now() - since
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
    await told
  })

  it('of a pipeline of which every write was refused say so, and not that replicas lack them', async () => {
    const master = await topology.currentMaster(name)
    await master.command('CONFIG', 'SET', 'min-replicas-to-write', '5')
    try {
      const safe = pool.withReplicaAck({ replicas: 2, timeoutMs: 50 }).withCommandOptions({ timeout: 400 })
      await assert.rejects(safe.pipeline().get('x').set('x', '2').exec(), /NOREPLICAS/)
    } finally {
      await master.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
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
