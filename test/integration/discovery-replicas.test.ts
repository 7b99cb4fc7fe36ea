import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

describe('who reads go to', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'spare'], replicas: 2 })
    pool = poolOn(topology, {
      masters: ['cache-a'],
      readFrom: 'preferReplica',
      pollIntervalMs: 200,
      connectTimeoutMs: 300,
    })
    await pool.connect()
    await pool.set('k', 'v')
    await pool.get('k')
    await untilReplicas(await topology.replicas('cache-a'))
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })

  async function untilReplicas(nodes: readonly TopologyNode[]): Promise<void> {
    const ports = () =>
      pool
        .stats()
        .shards[0]!.replicas.map((one) => one.port)
        .sort()
    const wanted = nodes.map((node) => node.port).sort()
    await until(`replicas ${wanted}`, () => ports().join() === wanted.join())
  }
  const readAll = (times = 30) => Promise.all(Array.from({ length: times }, () => pool.get('k')))

  it('a replica that sentinels hold to be down, or that does not answer, is left out, and taken in again', async () => {
    const [one, two] = (await topology.replicas('cache-a')) as [TopologyNode, TopologyNode]
    one.freeze()
    await untilReplicas([two])
    assert.deepEqual(new Set(await readAll()), new Set(['v']))
    one.cont()
    await untilReplicas([one, two])
  })

  it('a replica whose link to the master is down, or that still copies, is left out, and taken in again', async () => {
    const master = await topology.currentMaster('cache-a')
    const [one, two] = (await topology.replicas('cache-a')) as [TopologyNode, TopologyNode]
    // From now on it knocks in vain, and says so: first `connect`, and while it copies `sync`.
    await one.command('CONFIG', 'SET', 'masterauth', 'wrong')
    await one.command('CONFIG', 'SET', 'masteruser', 'nobody')
    const cut = () => master.command('CLIENT', 'KILL', 'TYPE', 'replica')
    await cut()
    await untilReplicas([two])
    assert.deepEqual(new Set(await readAll()), new Set(['v']))
    await one.command('CONFIG', 'SET', 'masteruser', '')
    await one.command('CONFIG', 'SET', 'masterauth', '')
    await untilReplicas([one, two])
  })

  it('a promoted replica leaves at once, and the old master joins once it follows', async () => {
    await topology.waitUntilSettled({ hurry: true })
    const moved = nextEvent(pool, 'failover')
    let staying: boolean | undefined
    const look = () => {
      const { address, replicas } = pool.stats().shards[0]!
      staying = replicas.some((one) => one.port === address!.port)
    }
    pool.on('failover', look)
    const { from, to } = await topology.failover('cache-a', { until: 'agreed' })
    const event = await moved
    assert.equal(event.to.port, to.port)
    pool.off('failover', look)
    assert.equal(staying, false, 'it was gone when the failover was told')
    const before = String(await to.command('INFO', 'commandstats'))
    await topology.waitUntilSettled({ hurry: true })
    await untilReplicas(topology.shard('cache-a').nodes.filter((node) => node !== to))
    assert.equal((await from.role()).role, 'slave')
    const gets = (info: string) => Number(/cmdstat_get:calls=(\d+)/.exec(info)?.[1] ?? 0)
    const between = String(await to.command('INFO', 'commandstats'))
    await readAll()
    assert.equal(
      gets(String(await to.command('INFO', 'commandstats'))),
      gets(between),
      'the master serves none of them',
    )
    assert.ok(gets(between) >= gets(before))
  })

  it('a new replica joins without a restart', async () => {
    const master = await topology.currentMaster('cache-a')
    const known = await topology.replicas('cache-a')
    const spare = topology.shard('spare').nodes[0]!
    for (const sentinel of topology.sentinelNodes) await sentinel.command('SENTINEL', 'REMOVE', 'spare')
    await spare.command('REPLICAOF', master.host, String(master.port))
    for (const sentinel of topology.sentinelNodes) await sentinel.command('SENTINEL', 'DEBUG', 'info-period', '200')
    await untilReplicas([...known, spare])
    assert.equal(await pool.get('k'), 'v')
  })
})
