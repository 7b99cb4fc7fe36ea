import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  PLACEMENT_KEY,
  PlacementMismatchError,
  type PlacementUncheckedEvent,
  type PoolOptions,
} from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { poolOn } from '../support/pool-on-topology.js'

describe('placement guard', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], replicas: 0, sentinels: 1 })
  })
  after(() => topology.close())
  beforeEach(() => onEachMaster('FLUSHALL'))

  async function onEachMaster(...command: string[]): Promise<unknown[]> {
    const masters = await Promise.all(topology.masters.map((name) => topology.currentMaster(name)))
    return Promise.all(masters.map((node) => node.command(...command)))
  }

  async function connectAndClose(options: Partial<PoolOptions>): Promise<PlacementUncheckedEvent[]> {
    const pool = poolOn(topology, options)
    const unchecked: PlacementUncheckedEvent[] = []
    pool.on('placement-unchecked', (event) => unchecked.push(event))
    try {
      await pool.connect()
    } finally {
      await pool.close()
    }
    return unchecked
  }

  async function mismatch(options: Partial<PoolOptions>): Promise<PlacementMismatchError> {
    const error = await connectAndClose(options).then(
      () => assert.fail('it connected'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof PlacementMismatchError, String(error))
    assert.equal(error.code, 'PLACEMENT_MISMATCH')
    return error
  }

  it('only reads by default: no key is written', async () => {
    await connectAndClose({})
    assert.deepEqual(await onEachMaster('DBSIZE'), [0, 0])
  })

  it('claims every shard once, and lets the same ring in again, also with the list in another order where order plays no part', async () => {
    await connectAndClose({ placementGuard: 'claim' })
    const claims = await onEachMaster('GET', PLACEMENT_KEY)
    assert.ok(claims.every((claim) => typeof claim === 'string' && claim.includes('murmur3')))
    assert.notEqual(claims[0], claims[1])
    await connectAndClose({ placementGuard: 'claim' })
    await connectAndClose({ placementGuard: 'check', masters: [...topology.masters].reverse() })
    assert.deepEqual(await onEachMaster('GET', PLACEMENT_KEY), claims)
  })

  it('refuses a list in another order where the order decides placement, and shows both sides shard by shard', async () => {
    const ring = { preset: 'jedis' } as const
    await connectAndClose({ placementGuard: 'claim', ring, masters: ['cache-a', 'cache-b'] })
    const error = await mismatch({ ring, masters: ['cache-b', 'cache-a'] })
    assert.deepEqual(error.found.map((f) => f.shard).sort(), ['cache-a', 'cache-b'])
    for (const { claim } of error.found) assert.ok(error.message.includes(claim))
    assert.ok(error.message.includes(error.expected))
  })

  it('refuses another ring, and another weight', async () => {
    await connectAndClose({ placementGuard: 'claim' })
    await mismatch({ ring: { preset: 'slots' } })
    await mismatch({ masters: ['cache-a', { name: 'cache-b', weight: 2 }] })
    await connectAndClose({ placementGuard: 'off', ring: { preset: 'slots' } })
  })

  it('refuses a shard that holds the claim of another shard', async () => {
    await connectAndClose({ placementGuard: 'claim' })
    const [claimOfA] = await onEachMaster('GET', PLACEMENT_KEY)
    const b = await topology.currentMaster('cache-b')
    await b.command('SET', PLACEMENT_KEY, String(claimOfA))
    const error = await mismatch({})
    assert.deepEqual(error.found, [{ shard: 'cache-b', claim: claimOfA }])
  })

  it('writes no claim at all when one shard disagrees', async () => {
    const a = await topology.currentMaster('cache-a')
    await a.command('SET', PLACEMENT_KEY, 'something else')
    await mismatch({ placementGuard: 'claim' })
    const b = await topology.currentMaster('cache-b')
    assert.equal(await b.command('GET', PLACEMENT_KEY), null)
  })

  it('goes on, with an event for the shard, where it may not read the claim', async () => {
    const a = await topology.currentMaster('cache-a')
    await a.command('ACL', 'SETUSER', 'default', 'resetkeys', '~user:*')
    try {
      const unchecked = await connectAndClose({})
      assert.deepEqual(
        unchecked.map((event) => event.shard),
        ['cache-a'],
      )
      assert.match(String(unchecked[0]?.cause), /NOPERM/)
    } finally {
      await a.command('ACL', 'SETUSER', 'default', 'allkeys')
    }
  })

  it('refuses without leaving a socket, and the same pool connects once the claim is right', async () => {
    const a = await topology.currentMaster('cache-a')
    await a.command('SET', PLACEMENT_KEY, 'something else')
    const pool = poolOn(topology)
    await assert.rejects(pool.connect(), PlacementMismatchError)
    assert.doesNotMatch(String(await a.command('CLIENT', 'LIST')), /name=sharded-sentinel-pool/)
    await a.command('DEL', PLACEMENT_KEY)
    await pool.connect()
    assert.equal(await pool.set('k', 'v'), 'OK')
    await pool.close()
  })
})
