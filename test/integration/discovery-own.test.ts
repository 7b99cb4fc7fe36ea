import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { consulResolver } from '../../examples/own-discovery/consul-resolver.js'
import { FakeConsul } from '../../examples/own-discovery/fake-consul.js'
import {
  formatAddress,
  type Resolver,
  RoleMismatchError,
  ShardedSentinelPool,
  UnknownMasterError,
} from '../../src/index.js'
import { LocalTopology, resolverContract, type TopologyNode } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('the resolver of the example keeps the contract', () => {
  let consul: FakeConsul
  before(async () => {
    consul = await FakeConsul.listen()
    consul.put('redis/masters/cache-a', '10.0.0.1:6379')
  })
  after(() => consul?.close())
  let moves = 0
  const cases = resolverContract({
    make: () => consulResolver(consul.url),
    known: { name: 'cache-a', address: { host: '10.0.0.1', port: 6379 } },
    move: () => {
      const address = { host: '10.0.1.1', port: 7000 + moves++ }
      consul.put('redis/masters/cache-a', formatAddress(address))
      return address
    },
  })
  for (const { name, run } of cases) it(name, run)
})

describe('without sentinels', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], sentinels: 0 })
  })
  after(() => topology?.close())

  /** A failover by hand: the replica becomes the master, the old one follows it. */
  async function promote(name: string): Promise<{ from: TopologyNode; to: TopologyNode }> {
    const from = await topology.currentMaster(name)
    const to = (await topology.replicas(name))[0]!
    await to.command('REPLICAOF', 'NO', 'ONE')
    await from.command('REPLICAOF', to.host, String(to.port))
    return { from, to }
  }

  it('static addresses are proved by ROLE: a replica is refused at the start, by its address', async () => {
    const [a, b] = [(await topology.replicas('cache-a'))[0]!, await topology.currentMaster('cache-b')]
    const pool = new ShardedSentinelPool({
      masters: [
        { name: 'cache-a', ...a.address },
        { name: 'cache-b', ...b.address },
      ],
      connectDeadlineMs: 300,
    })
    const { error } = await ending(pool.connect())
    assert.ok(error instanceof RoleMismatchError)
    assert.deepEqual([error.masterName, error.address, error.role], ['cache-a', a.address, 'slave'])
  })

  it('static addresses serve, and a demoted one gets no write: the call fails unsent until it is a master again', async (t) => {
    const a = await topology.currentMaster('cache-a')
    const pool = new ShardedSentinelPool({
      masters: [{ name: 'cache-a', ...a.address }],
      commandTimeoutMs: 300,
    })
    t.after(() => pool.destroy())
    await pool.connect()
    assert.equal(await pool.set('k', 'v'), 'OK')
    const { to } = await promote('cache-a')
    const refused = (await ending(pool.set('k', 'w'))).error as { code?: string; outcome?: string }
    assert.deepEqual([refused.code, refused.outcome], ['SHARD_UNAVAILABLE', 'not-sent'])
    await a.command('REPLICAOF', 'NO', 'ONE')
    await until('it to be back', () => pool.stats().shards[0]!.state === 'ready')
    assert.equal(await pool.set('k', 'w'), 'OK')
    await to.command('REPLICAOF', a.host, String(a.port))
  })

  const ways: [string, (resolver: Resolver) => Resolver, number][] = [
    ['its watch', (resolver) => resolver, 60_000],
    ['the periodic check alone', ({ resolve }) => ({ resolve }), 100],
  ]
  for (const [what, shape, pollIntervalMs] of ways) {
    it(`a resolver's change is followed by ${what}, while the old master still answers`, async (t) => {
      const consul = await FakeConsul.listen()
      const put = (name: string, { address }: TopologyNode) =>
        consul.put(`redis/masters/${name}`, formatAddress(address))
      for (const name of topology.masters) put(name, await topology.currentMaster(name))
      const pool = new ShardedSentinelPool({
        masters: topology.masters,
        resolver: shape(consulResolver(consul.url)),
        pollIntervalMs,
      })
      t.after(async () => {
        pool.destroy()
        await consul.close()
      })
      await pool.connect()
      await until('the watch', () => pool.stats().shards.every((shard) => shard.state === 'ready'))
      const moved = nextEvent(pool, 'failover', { timeoutMs: 5_000 })
      const { from, to } = await promote('cache-b')
      put('cache-b', to)
      const event = await moved
      assert.deepEqual([event.from?.port, event.to.port], [from.port, to.port])
      const key = Array.from({ length: 100 }, (_, i) => `k${i}`).find((one) => pool.locate(one) === 'cache-b')!
      assert.equal(await pool.set(key, what), 'OK')
      assert.equal(await to.command('GET', key), what)
      // Whatever it says then, the pool goes on with what it has proved.
      consul.put('redis/masters/cache-b', formatAddress(from.address))
      await until('the lie to be looked into', () => pool.stats().shards[1]!.rebuilds > 2, 5_000)
      assert.equal(await pool.set(key, 'still'), 'OK')
      assert.equal(pool.stats().shards[1]!.failovers, 1)
    })
  }

  it('a name that the resolver does not know fails connect() at once', async () => {
    const consul = await FakeConsul.listen()
    const pool = new ShardedSentinelPool({ masters: ['cache-x'], resolver: consulResolver(consul.url) })
    const { error, tookMs } = await ending(pool.connect())
    await consul.close()
    assert.ok(error instanceof UnknownMasterError)
    assert.deepEqual(error.answers, [{ sentinel: 'resolver', address: null }])
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
  })
})
