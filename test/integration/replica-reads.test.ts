import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ShardUnavailableError } from '../../src/index.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

/** How many GETs a server has executed since its last CONFIG RESETSTAT. */
async function gets(node: TopologyNode): Promise<number> {
  const info = String(await node.command('INFO', 'commandstats'))
  return Number(/cmdstat_get:calls=(\d+)/.exec(info)?.[1] ?? 0)
}

async function readMany(pool: TestPool, times = 40): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => pool.get('k')))
}

const replicasOf = (pool: TestPool) => pool.stats().shards[0]!.replicas

describe('reads from replicas', () => {
  let topology: LocalTopology
  let pool: TestPool
  let name: string
  before(async () => {
    topology = await LocalTopology.start({ shards: 1, replicas: 2, sentinels: 3 })
    name = topology.masters[0]!
    pool = poolOn(topology, { readFrom: 'preferReplica' })
    await pool.connect()
    await pool.set('k', 'v')
    assert.equal(await pool.withReplicaAck({ replicas: 2, timeoutMs: 2_000 }).set('k', 'v'), 'OK')
  })
  after(async () => {
    await pool?.close()
    await topology?.close()
  })

  it('are spread over all replicas, and the master serves none of them', async () => {
    await pool.get('k')
    await until('both replicas', () => replicasOf(pool).length === 2)
    const master = await topology.currentMaster(name)
    const replicas = await topology.replicas(name)
    const before = await Promise.all([master, ...replicas].map(gets))
    await readMany(pool)
    const after = await Promise.all([master, ...replicas].map(gets))
    assert.deepEqual(
      after.map((count, i) => count - before[i]!),
      [0, 20, 20],
    )
  })

  it('can be sent to the master for a call, and to a replica by name of the view', async () => {
    const master = await topology.currentMaster(name)
    const before = await gets(master)
    assert.equal(await pool.withReadFrom('master').get('k'), 'v')
    assert.equal(await gets(master), before + 1)
    assert.equal(await pool.withReadFrom('replica').get('k'), 'v')
    assert.equal(await gets(master), before + 1)
  })

  it('are those with keys: what is about the servers is asked of the masters', async () => {
    const near = pool.withReadFrom('replica')
    await near.configSet('slowlog-max-len', '77')
    assert.equal((await near.configGet('slowlog-max-len'))['slowlog-max-len'], '77')
    const sha = await near.scriptLoad('return 1')
    assert.deepEqual(await near.scriptExists(sha), [1])
    const raw = (await near.sendCommand(['CONFIG', 'GET', 'slowlog-max-len'])) as Record<string, string>
    assert.match(JSON.stringify(raw), /77/)
  })

  it('leave writes and cursors on the master', async () => {
    const master = await topology.currentMaster(name)
    await pool.set('written', '1')
    assert.equal(await master.command('GET', 'written'), '1')
    const scans = async (node: TopologyNode) =>
      Number(/cmdstat_scan:calls=(\d+)/.exec(String(await node.command('INFO', 'commandstats')))?.[1] ?? 0)
    const before = await scans(master)
    for await (const _keys of pool.scanIterator()) {
      // Only where it is asked matters here.
    }
    assert.ok((await scans(master)) > before)
  })

  it('go on without an error while the master is dead and nobody is promoted yet', async () => {
    const failover = nextEvent(pool, 'failover')
    let switched = false
    void failover.then(() => {
      switched = true
    })
    await topology.killMaster(name)
    let read = 0
    while (!switched) {
      assert.equal(await pool.get('k'), 'v')
      read++
    }
    assert.ok(read > 100, `${read} reads`)
    const { to } = await failover
    await until('the promoted one to leave', () => !replicasOf(pool).some((r) => r.port === to.port))
    assert.equal(await pool.get('k'), 'v')
  })

  it('fall back to the master when no replica is left, and come back with the replica', async () => {
    const master = await topology.currentMaster(name)
    const replicas = (await topology.replicas(name)).filter((node) => node.state === 'up')
    for (const replica of replicas) await replica.kill()
    await until('no replica', () => replicasOf(pool).length === 0)
    const before = await gets(master)
    assert.equal(await pool.get('k'), 'v')
    assert.equal(await gets(master), before + 1)
    await assert.rejects(pool.withReadFrom('replica').get('k'), (error: unknown) => {
      assert.ok(error instanceof ShardUnavailableError)
      assert.equal(error.reason, 'no-replica')
      assert.equal(error.outcome, 'not-sent')
      return true
    })
    for (const replica of replicas) await replica.restart()
    await until('a replica', () => replicasOf(pool).length > 0)
    assert.equal(await pool.withReadFrom('replica').get('k'), 'v')
  })
})
