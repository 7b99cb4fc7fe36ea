import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { PLACEMENT_KEY, PlacementMismatchError, ShardUnavailableError, UnknownMasterError } from '../../src/index.js'
import { LocalTopology, type TopologyNode } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { keyOf, poolClients, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { socketsTo } from '../support/sockets.js'
import { until } from '../support/waiting.js'

describe('the start of a pool', () => {
  let topology: LocalTopology
  let lonely: TopologyNode
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'], replicas: 0 })
    lonely = await topology.currentMaster('cache-b')
  })
  after(() => topology?.close())
  const sockets = () => topology.nodes.map((node) => socketsTo(node.port))
  /** What connect() rejects with, after it was seen that no socket is left. */
  async function failure(pool: TestPool): Promise<{ error: unknown; tookMs: number }> {
    const before = sockets()
    const { error, tookMs } = await ending(pool.connect())
    const left = sockets().filter((count, i) => count > before[i]!)
    assert.deepEqual(left, [], 'no socket is left')
    assert.deepEqual([pool.isOpen, pool.isReady], [false, false])
    return { error, tookMs }
  }

  it('a typo in a master name fails in the first round, says what each sentinel answered, and leaves no socket', async () => {
    const { error, tookMs } = await failure(poolOn(topology, { masters: ['cache-a', 'cache-x'] }))
    assert.ok(error instanceof UnknownMasterError)
    assert.equal(error.masterName, 'cache-x')
    assert.deepEqual(
      error.answers.map(({ sentinel, address }) => [sentinel, address]).sort(),
      topology.sentinels.map(({ port }) => [`127.0.0.1:${port}`, null]).sort(),
    )
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
  })

  it('no sentinel reachable is told as that, one by one, and no later than the deadline', async () => {
    const nobody = ['127.0.0.1:1', '127.0.0.1:2']
    const { error, tookMs } = await failure(poolOn(topology, { sentinels: nobody, connectDeadlineMs: 300 }))
    assert.equal((error as Error).name, 'SentinelsUnreachableError')
    assert.deepEqual((error as { answers?: unknown }).answers, [
      { sentinel: '127.0.0.1:1', error: 'ECONNREFUSED' },
      { sentinel: '127.0.0.1:2', error: 'ECONNREFUSED' },
    ])
    assert.ok(tookMs < 900, `${tookMs} ms`)
  })

  it('a dead master is told with its address, by default all shards are needed, and no socket to the others is left', async () => {
    await lonely.kill()
    const { error } = await failure(poolOn(topology, { connectDeadlineMs: 400 }))
    assert.match(String(error), /cache-b/)
    assert.deepEqual((error as { address?: unknown }).address, lonely.address)
    await lonely.start()
  })

  it('requireAllShards false: what is there works at once, the missing shard fails typed, and joins by itself', async (t) => {
    await lonely.kill()
    const pool = poolOn(topology, { requireAllShards: false, commandTimeoutMs: 300, placementGuard: 'claim' })
    t.after(() => pool.destroy())
    const told: [string, string][] = []
    pool.on('shard-down', ({ shard, reason }) => told.push([`down: ${shard}`, reason]))
    pool.on('reconnect', ({ shard, reason }) => told.push([`joined: ${shard}`, reason]))
    const { error, tookMs } = await ending(pool.connect())
    assert.equal(error, undefined)
    assert.ok(tookMs < 3_000, `${tookMs} ms`)
    const [key, missing] = [keyOf(pool, 'cache-a'), keyOf(pool, 'cache-b')]
    assert.equal(await pool.set(key, 'v'), 'OK')
    const refused = (await ending(pool.get(missing))).error
    assert.ok(refused instanceof ShardUnavailableError)
    assert.deepEqual([refused.shard, refused.reason, refused.outcome], ['cache-b', 'no-master', 'not-sent'])
    assert.match(String((refused.cause as Error).message), new RegExp(`${lonely.port}`))
    await lonely.start()
    await until('it to join', () => pool.stats().shards[1]!.state === 'ready', 5_000)
    assert.equal(await pool.set(missing, 'joined'), 'OK')
    assert.deepEqual(told, [
      ['down: cache-b', 'connect'],
      ['joined: cache-b', 'connect'],
    ])
    assert.match(String(await lonely.command('GET', PLACEMENT_KEY)), /cache-b/, 'it was claimed when it joined')
  })

  it('a shard that joins late with data of another ring is not let in until it agrees, and the others go on', async (t) => {
    const door = await topology.proxy(lonely)
    await door.refuse()
    const errors: Error[] = []
    const pool = poolOn(topology, { requireAllShards: false, commandTimeoutMs: 300 })
    pool.on('error', (error) => errors.push(error))
    t.after(() => pool.destroy())
    await pool.connect()
    const hold = keyOf(pool, 'cache-b')
    await lonely.command('SET', PLACEMENT_KEY, 'another ring # cache-z')
    await door.pass()
    await until('it to be looked at', () => errors.length > 0, 5_000)
    const late = poolOn(topology, { requireAllShards: false, commandTimeoutMs: 300 })
    await assert.rejects(late.connect(), PlacementMismatchError)
    const refused = (await ending(pool.get(hold))).error
    assert.ok(refused instanceof ShardUnavailableError)
    assert.ok(refused.cause instanceof PlacementMismatchError)
    assert.deepEqual(refused.cause.found, [{ shard: 'cache-b', claim: 'another ring # cache-z' }])
    assert.equal(await pool.set(keyOf(pool, 'cache-a'), 'v'), 'OK')
    // It looks again from time to time, and keeps no connection in between.
    await until('no connection to be kept', async () => (await poolClients(lonely)).length === 0)
    assert.equal(errors.filter((error) => error instanceof PlacementMismatchError).length, 1)
    await lonely.command('DEL', PLACEMENT_KEY)
    await until('it to join', () => pool.stats().shards[1]!.state === 'ready', 5_000)
    assert.equal(await pool.set(hold, 'v'), 'OK')
  })
})
