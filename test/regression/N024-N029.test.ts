// N024, N025, N026, N027, N028, N029: what sentinels say that is old, double, spelled otherwise or missing, and clients that took it at its word.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import type { FakeSentinel } from '../support/fake-sentinel.js'
import { ending, type FakeWorld, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'
import { scriptedWorld } from './scripted-redis.js'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Another pool over the world's sentinels. */
function another(world: FakeWorld, sentinels: readonly FakeSentinel[] = world.sentinels): ShardedSentinelPool {
  return new ShardedSentinelPool({
    masters: ['cache-a', 'cache-b'],
    sentinels: sentinels.map(({ address }) => address),
    placementGuard: 'off',
    pool: { min: 0 },
    pollIntervalMs: 100,
  })
}

/** Calls for so long; resolves with the errors. */
async function errorsWhile(world: FakeWorld, ms: number): Promise<unknown[]> {
  const errors: unknown[] = []
  for (const stopAt = performance.now() + ms; performance.now() < stopAt; await pause(5)) {
    const { error } = await ending(world.pool.set(world.key, 'v'))
    if (error !== undefined) errors.push(error)
  }
  return errors
}

describe('sentinels that', () => {
  it('N024: list sixty peers that are gone for good: neither start nor failover waits for them, and attempts stay few', async (t) => {
    const world = await fakeWorld(t)
    for (const { peers } of world.sentinels) {
      for (let i = 1; i <= 60; i++) peers.push({ address: { host: '127.0.0.1', port: i }, runId: `gone-${i}` })
    }
    const pool = another(world)
    t.after(() => pool.destroy())
    const { error, tookMs } = await ending(pool.connect())
    assert.equal(error, undefined)
    // One after another, at the time-out of a sentinel, they would take twenty seconds.
    assert.ok(tookMs < 5_000, `${tookMs} ms`)
    await pause(300)
    world.promote()
    world.master.role = 'slave'
    world.master.refusal = 'READONLY You can not write against a read only replica.'
    const write = await ending(pool.set(world.key, 'v'))
    assert.equal(write.reply, 'OK')
    assert.ok(write.tookMs < 5_000, `${write.tookMs} ms`)
    assert.ok(pool.stats().sentinels.length < 60)
  })

  it('N025: list one peer several times, under new ids at its old address: it is one, with one subscription', async (t) => {
    const world = await fakeWorld(t)
    const [seed, peer] = world.sentinels
    for (const runId of ['first', 'second', peer!.runId]) seed!.peers.push({ address: peer!.address, runId })
    const pool = another(world, [seed!])
    t.after(() => pool.destroy())
    await pool.connect()
    await until('the peer', () => pool.stats().sentinels.filter(({ subscribed }) => subscribed).length === 2)
    await pause(200)
    assert.equal(pool.stats().sentinels.length, 2)
    // One of `world.pool`, one of this pool.
    assert.equal(peer!.subscribers, 2)
  })

  it('N026: name the master now by its name, now by its IP: it is no new master, and nothing is rebuilt', async (t) => {
    const world = await fakeWorld(t, { pollIntervalMs: 100 })
    const { port } = world.master.address
    let turn = 0
    const turning = setInterval(() => {
      turn++
      for (const [i, { masters }] of world.sentinels.entries()) {
        masters.set('cache-a', { address: { host: (turn + i) % 2 === 0 ? 'localhost' : '127.0.0.1', port }, epoch: 1 })
      }
    }, 60)
    t.after(() => clearInterval(turning))
    assert.deepEqual(await errorsWhile(world, 800), [])
    assert.deepEqual(world.events, [])
    assert.equal(world.pool.stats().shards[0]!.generation, 1)
  })

  it('N027: forget the master for a while, and monitor it anew with an epoch of 0: calls go on where they are', async (t) => {
    const world = await fakeWorld(t, { pollIntervalMs: 100 })
    for (const { masters } of world.sentinels) masters.delete('cache-a')
    assert.deepEqual(await errorsWhile(world, 300), [])
    for (const { masters } of world.sentinels) masters.set('cache-a', { address: world.master.address, epoch: 0 })
    assert.deepEqual(await errorsWhile(world, 300), [])
    assert.deepEqual(world.events, [])
    // And it is no obstacle to the next failover, whose epoch is then a small one again.
    world.promote(1)
    world.master.role = 'slave'
    world.tell()
    await until('the failover', () => world.pool.stats().shards[0]!.failovers === 1)
  })

  it('N028: monitor another node under the name, epoch 0, while the old one still calls itself master: it is followed', async (t) => {
    const world = await fakeWorld(t, { pollIntervalMs: 100 })
    world.promote(0)
    await until('the move', () => world.pool.stats().shards[0]!.failovers === 1, 15_000)
    assert.deepEqual(world.pool.shards[0]!.address, world.replica.address)
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
    assert.equal(world.replica.data.get(world.key), 'v')
  })

  it('N029: call a replica well that has lost its master: what it refuses is read from the master', async (t) => {
    const { master, replica, pool } = await scriptedWorld(t, { readFrom: 'preferReplica' })
    await pool.get('k')
    await until('a read from the replica', async () => {
      await pool.get('k')
      return replica.executed.length > 0
    })
    const before = master.executed.length
    replica.refusal = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
    assert.equal(await pool.get('k'), 'value of k')
    assert.equal(master.executed.length, before + 1)
    assert.equal(pool.stats().shards[0]!.generation, 1)
  })
})
