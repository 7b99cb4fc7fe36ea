import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formatAddress } from '../../src/address.js'
import type { Address, AddressMap } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { errorsByCode, Load } from '../support/load.js'
import { keyOf, poolClientIds, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

/** Every address the pool knows: masters, replicas, sentinels. */
function addressesOf(pool: TestPool): Address[] {
  const { shards, sentinels } = pool.stats()
  return [...shards.flatMap((s) => [s.address!, ...s.replicas]), ...sentinels.map((s) => s.address)]
}

describe('everything on IPv6', () => {
  it('connects from each spelling, reads from a replica, follows a failover and hears every sentinel', async (t) => {
    const topology = await LocalTopology.start({ host: '::1' })
    t.after(() => topology.close())
    const [one, two, three] = topology.sentinels as [Address, Address, Address]
    const pool = poolOn(topology, {
      sentinels: [one, `[::1]:${two.port}`, { host: '0:0:0:0:0:0:0:1', port: three.port }],
      readFrom: 'preferReplica',
    })
    t.after(() => pool.destroy())
    await pool.connect()
    const key = keyOf(pool, topology.masters[0]!)
    await pool.set(key, 'before')
    await pool.get(key)
    await until('the replica', () => pool.stats().shards[0]!.replicas.length === 1)
    await until('three subscriptions', () => pool.stats().sentinels.filter((s) => s.subscribed).length === 3)
    assert.equal(pool.stats().sentinels.length, 3)
    const moved = nextEvent(pool, 'failover')
    const { from, to } = await topology.failover(topology.masters[0]!)
    const event = await moved
    assert.deepEqual([formatAddress(event.from!), formatAddress(event.to)], [`[::1]:${from.port}`, `[::1]:${to.port}`])
    assert.equal(await pool.set(key, 'after'), 'OK')
    assert.equal(await to.command('GET', key), 'after')
  })
})

describe('servers behind addresses of their own (NAT)', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ proxy: { data: true, sentinels: true } })
  })
  after(() => topology?.close())

  const maps: [string, () => AddressMap][] = [
    ['a record', () => topology.addressMap],
    [
      'a function',
      () => {
        const map = topology.addressMap
        return (address) => map[formatAddress(address)]
      },
    ],
  ]
  for (const [what, map] of maps) {
    it(`addressMap as ${what} is applied wherever an address comes in, and nothing is rebuilt for it`, async (t) => {
      const name = topology.masters[0]!
      await topology.waitUntilSettled({ hurry: true })
      const reachable = new Set(topology.nodes.map((node) => topology.addressMap[formatAddress(node.address)]!.port))
      // One seed: the others are learned, mapped.
      const pool = poolOn(topology, {
        sentinels: topology.sentinels.slice(0, 1),
        addressMap: map(),
        readFrom: 'preferReplica',
        pollIntervalMs: 100,
      })
      t.after(() => pool.destroy())
      await pool.connect()
      const key = keyOf(pool, name)
      await pool.set(key, what)
      await pool.get(key)
      await until('the replica', () => pool.stats().shards[0]!.replicas.length === 1)
      await until('three subscriptions', () => pool.stats().sentinels.filter((s) => s.subscribed).length === 3)
      const unreachable = () => addressesOf(pool).filter(({ port }) => !reachable.has(port))
      assert.deepEqual(unreachable(), [])
      const moved = nextEvent(pool, 'failover')
      const { to } = await topology.failover(name, { until: 'agreed' })
      assert.equal(topology.node((await moved).to), to)
      assert.equal(await pool.set(key, `${what} again`), 'OK')
      assert.equal(await to.command('GET', key), `${what} again`)
      await topology.waitUntilSettled({ hurry: true })
      await until('the old master as a replica', () => pool.stats().shards[0]!.replicas.length === 1)
      assert.deepEqual(unreachable(), [])
      assert.equal(pool.stats().sentinels.length, 3)
      const { generation, rebuilds } = pool.stats().shards[0]!
      assert.equal(generation, 2, 'one connect, one failover')
      // Many more checks, all of which find what is there already.
      const load = new Load(pool, topology.masters)
      await until('some checks', () => load.calls.length > 600)
      assert.deepEqual(errorsByCode(await load.stop()), {})
      assert.deepEqual([pool.stats().shards[0]!.generation, pool.stats().shards[0]!.rebuilds], [generation, rebuilds])
    })
  }
})

describe('sentinels that announce host names', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ hostname: 'localhost' })
    pool = poolOn(topology, { pollIntervalMs: 100 })
    await pool.connect()
    await until('three subscriptions', () => pool.stats().sentinels.filter((s) => s.subscribed).length === 3)
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })
  const announce = (names: readonly ('yes' | 'no')[]) =>
    Promise.all(
      topology.sentinelNodes.map((node, i) =>
        node.command('SENTINEL', 'CONFIG', 'SET', 'announce-hostnames', names[i] ?? 'no'),
      ),
    )
  const nameOfFirst = async () =>
    (
      (await topology.sentinelNodes[0]!.command(
        'SENTINEL',
        'GET-MASTER-ADDR-BY-NAME',
        topology.masters[0]!,
      )) as string[]
    )[0]

  it('a failover from name to name is followed', async () => {
    const name = topology.masters[0]!
    assert.equal(pool.stats().shards[0]!.address!.host, 'localhost')
    const moved = nextEvent(pool, 'failover')
    const { to } = await topology.failover(name, { until: 'agreed' })
    assert.deepEqual((await moved).to, { host: 'localhost', port: to.port })
    await topology.waitUntilSettled({ hurry: true })
  })

  it('the same server by name and by IP, from all sentinels or from some, is never a reason to rebuild', async (t) => {
    const name = topology.masters[0]!
    const master = await topology.currentMaster(name)
    await until('the lease connection', () => pool.stats().shards[0]!.leases.idle === 1)
    const idsBefore = await poolClientIds(master)
    const { generation } = pool.stats().shards[0]!
    const news: string[] = []
    const note = (what: string) => () => void news.push(what)
    for (const event of ['failover', 'reconnect', 'shard-down'] as const) pool.on(event, note(event))
    const load = new Load(pool, topology.masters)
    for (const mix of [
      ['no', 'no', 'no'],
      ['yes', 'no', 'no'],
      ['no', 'yes', 'yes'],
      ['yes', 'yes', 'yes'],
    ] as const) {
      await announce(mix)
      assert.equal(await nameOfFirst(), mix[0] === 'yes' ? 'localhost' : '127.0.0.1')
      const seen = load.calls.length
      await until('some checks', () => load.calls.length > seen + 300)
    }
    assert.deepEqual(errorsByCode(await load.stop()), {})
    assert.deepEqual(news, [])
    assert.equal(pool.stats().shards[0]!.generation, generation)
    assert.deepEqual(await poolClientIds(master), idsBefore)
    t.diagnostic(`${pool.stats().shards[0]!.rebuilds} looks`)
  })

  it('cut connections come back under the other spelling as a reconnect, not as a failover', async () => {
    const name = topology.masters[0]!
    await announce(['no', 'no', 'no'])
    const back = nextEvent(pool, 'reconnect')
    const master = await topology.currentMaster(name)
    await master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    assert.equal((await back).address.port, master.port)
    assert.equal(pool.stats().shards[0]!.failovers, 1)
    await announce(['yes', 'yes', 'yes'])
  })
})
