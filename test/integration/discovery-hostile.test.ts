import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { SentinelStateEvent } from '../../src/index.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { OwnLag } from '../support/fake-world.js'
import { type CallRecord, errorsByCode, Load } from '../support/load.js'
import { keyOf, poolClientIds, poolOn, type TestPool, valuesOn } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

const WORST_MS = 500
const [FAILED, OTHER] = ['cache-a', 'cache-b'] as const

/** When ROLE of one of the shard's other nodes says master for the first time. */
async function promotion(topology: LocalTopology, from: TopologyNode): Promise<{ at: number; to: TopologyNode }> {
  const others = topology.shard(FAILED).nodes.filter((node) => node !== from)
  let to: TopologyNode | undefined
  await until(
    'the promotion',
    async () => {
      const roles = await Promise.all(others.map((node) => node.role().catch(() => undefined)))
      to = others.find((_, i) => roles[i]?.role === 'master')
      return to !== undefined
    },
    20_000,
  )
  return { at: performance.now(), to: to! }
}

const keptWrites = (calls: readonly CallRecord[], since: number) =>
  calls.filter((c) => c.shard === FAILED && c.kind === 'set' && c.error === undefined && c.startedAt >= since)

/** Acknowledged writes to the failed shard that were issued after the pool's own switch, and are not on its new master. */
async function lostOf(calls: readonly CallRecord[], since: number, master: TopologyNode): Promise<string[]> {
  const kept = keptWrites(calls, since)
  const found = await valuesOn(
    master,
    kept.map((call) => call.key),
  )
  return kept.filter((call, i) => found[i] !== call.value).map((call) => call.key)
}

interface Outcome {
  readonly firstKeptMs: number
  readonly lost: number
  readonly otherErrors: Record<string, number>
  readonly errors: Record<string, number>
  readonly lagMs: number
}

/** Lets `fail` harm the master of the failed shard under load, and tells from when on its writes were kept. */
async function failover(
  topology: LocalTopology,
  pool: TestPool,
  prefix: string,
  fail: (from: TopologyNode) => Promise<unknown>,
): Promise<Outcome> {
  const from = await topology.currentMaster(FAILED)
  const load = new Load(pool, topology.masters, prefix)
  await until('some traffic', () => load.calls.length > 100)
  const lag = new OwnLag()
  let switchedAt = Number.NaN
  const moved = nextEvent(pool, 'failover', { test: (event) => event?.shard === FAILED })
  void moved.then(() => {
    switchedAt = performance.now()
  })
  const promoted = promotion(topology, from)
  const failed = fail(from)
  const { at, to } = await promoted
  assert.equal(topology.node((await moved).to), to)
  await until('writes to resume', () => keptWrites(load.calls, switchedAt).length > 30)
  await failed
  const calls = await load.stop()
  const first = Math.min(
    ...calls
      .filter((c) => c.endedAt > switchedAt && c.kind === 'set' && c.error === undefined && c.shard === FAILED)
      .map((c) => c.endedAt),
  )
  return {
    firstKeptMs: first - at,
    lost: (await lostOf(calls, switchedAt, to)).length,
    errors: errorsByCode(calls.filter((call) => call.shard === FAILED)),
    otherErrors: errorsByCode(calls.filter((call) => call.shard === OTHER)),
    lagMs: lag.stop(),
  }
}

function assertGood(outcome: Outcome): void {
  assert.equal(outcome.lost, 0, 'acknowledged after the switch and lost')
  assert.deepEqual(outcome.otherErrors, {})
  assert.ok(
    outcome.firstKeptMs <= WORST_MS + outcome.lagMs,
    `first kept write ${outcome.firstKeptMs} ms after the promotion`,
  )
}

describe('hostile sentinels, with an app that writes all the while', () => {
  let topology: LocalTopology
  let pool: TestPool
  const states: SentinelStateEvent[] = []
  const heard = () => pool.stats().sentinels.filter((one) => one.subscribed).length
  before(async () => {
    topology = await LocalTopology.start({ shards: [FAILED, OTHER] })
    pool = poolOn(topology, { commandTimeoutMs: 10_000 })
    pool.on('sentinel-state', (event) => states.push(event))
    await pool.connect()
    await until('three subscriptions', () => heard() === 3)
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })

  async function connectMs(): Promise<number> {
    let best = Number.POSITIVE_INFINITY
    for (let i = 0; i < 4; i++) {
      const another = poolOn(topology, { pool: { min: 0 }, placementGuard: 'off' })
      const startedAt = performance.now()
      await another.connect()
      best = Math.min(best, performance.now() - startedAt)
      another.destroy()
    }
    return best
  }

  it('a frozen first sentinel costs connect() at most 100 ms, and running traffic nothing', async (t) => {
    const well = await connectMs()
    topology.sentinelNodes[0]!.freeze()
    const ill = await connectMs()
    const load = new Load(pool, topology.masters, 'frozen')
    await until('some traffic', () => load.calls.length > 300)
    assert.deepEqual(errorsByCode(await load.stop()), {})
    topology.sentinelNodes[0]!.cont()
    t.diagnostic(`${Math.round(well)} ms in health, ${Math.round(ill)} ms with it`)
    assert.ok(ill - well < 100, `${ill - well} ms`)
  })

  it('two dead addresses of three cost connect() at most 100 ms, and are found again when they are back', async (t) => {
    const well = await connectMs()
    await Promise.all(topology.sentinelNodes.slice(0, 2).map((node) => node.kill()))
    const ill = await connectMs()
    const late = poolOn(topology)
    t.after(() => late.destroy())
    await late.connect()
    t.diagnostic(`${Math.round(well)} ms in health, ${Math.round(ill)} ms with them`)
    assert.ok(ill - well < 100, `${ill - well} ms`)
    await Promise.all(topology.sentinelNodes.slice(0, 2).map((node) => node.start()))
    await until('all three', () => late.stats().sentinels.filter((one) => one.subscribed).length === 3)
  })

  it('all sentinels gone: traffic goes on without an error, the state is degraded, and once they are back it is watching', async () => {
    await until('three subscriptions', () => heard() === 3)
    states.length = 0
    const load = new Load(pool, topology.masters, 'gone')
    await Promise.all(topology.sentinelNodes.map((node) => node.kill()))
    await until('the state', () => states.at(-1)?.state === 'degraded')
    const seen = load.calls.length
    await until('traffic without sentinels', () => load.calls.length > seen + 500)
    await Promise.all(topology.sentinelNodes.map((node) => node.start()))
    await until('the state', () => states.at(-1)?.state === 'watching')
    assert.deepEqual(errorsByCode(await load.stop()), {})
    assert.deepEqual(
      states.map(({ state, reachable }) => [state, reachable > 0]),
      [
        ['degraded', false],
        ['watching', true],
      ],
    )
  })

  it('all sentinels restarted while the pool was idle, then a master that falls silent: nothing is lost after the switch', async (t) => {
    await until('three subscriptions', () => heard() === 3)
    await topology.waitUntilSettled({ hurry: true })
    const outcome = await failover(topology, pool, 'silent', async (from) => {
      from.freeze()
      await topology.waitForSwitch(FAILED, from)
      from.cont()
    })
    t.diagnostic(`first kept write ${Math.round(outcome.firstKeptMs)} ms after the promotion`)
    assertGood(outcome)
    await topology.waitUntilSettled({ hurry: true })
  })

  it('a stale sentinel, first in the list, with the old master still writable: nobody is led there, and nothing is lost after the switch', async (t) => {
    await topology.isolateSentinel(0)
    const stale = topology.sentinelNodes[0]!
    const outcome = await failover(topology, pool, 'stale', () => topology.failover(FAILED, { until: 'agreed' }))
    t.diagnostic(`first kept write ${Math.round(outcome.firstKeptMs)} ms after the promotion`)
    assertGood(outcome)
    assert.deepEqual(outcome.errors, {})
    const named = (await stale.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', FAILED)) as string[]
    const master = await topology.currentMaster(FAILED)
    assert.notEqual(Number(named[1]), master.port, 'it still names the old one')
    // A pool that starts now asks the stale one first, and the old master would still answer it as a master.
    const fresh = poolOn(topology)
    t.after(() => fresh.destroy())
    await fresh.connect()
    assert.equal(topology.node(fresh.stats().shards[0]!.address!), master)
    const key = keyOf(fresh, FAILED, 'fresh')
    await fresh.set(key, 'v')
    assert.equal(await master.command('GET', key), 'v')
  })

  it('a stale sentinel that names a demoted master changes nothing, for a running pool or a new one', async (t) => {
    const [old] = topology.shard(FAILED).nodes.filter((node) => node.port !== pool.stats().shards[0]!.address!.port)
    await topology.waitUntilSettled({ hurry: true })
    assert.equal((await old!.role()).role, 'slave')
    const master = await topology.currentMaster(FAILED)
    const watching = poolOn(topology, { pollIntervalMs: 100 })
    t.after(() => watching.destroy())
    await watching.connect()
    await until('the lease connection', () => watching.stats().shards[0]!.leases.idle === 1)
    const idsBefore = await poolClientIds(master)
    const { generation } = watching.stats().shards[0]!
    const load = new Load(watching, topology.masters, 'demoted')
    await until('many checks', () => load.calls.length > 1_000)
    assert.deepEqual(errorsByCode(await load.stop()), {})
    assert.equal(watching.stats().shards[0]!.generation, generation)
    assert.deepEqual(await poolClientIds(master), idsBefore)
  })
})
