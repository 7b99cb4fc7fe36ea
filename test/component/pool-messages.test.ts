import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

const names = (events: readonly [string, unknown][]) => events.map(([name]) => name)

describe('messages that are', () => {
  it('true: writes go to the new master, once told', async (t) => {
    const world = await fakeWorld(t)
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    world.tell()
    const event = await followed
    assert.deepEqual(event.to, world.replica.address)
    assert.equal(event.reason, 'switch-master')
    await world.pool.set(world.key, 'new')
    assert.equal(world.replica.data.get(world.key), 'new')
    assert.equal(world.master.server.connections.size, 0)
  })

  it('doubled: it is one failover', async (t) => {
    const world = await fakeWorld(t)
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    for (let i = 0; i < 5; i++) world.tell()
    await followed
    for (let i = 0; i < 5; i++) world.tell()
    await world.pool.set(world.key, 'new')
    await until('the shard to be at rest', () => world.pool.stats().shards[0]!.state === 'ready')
    assert.deepEqual(names(world.events), ['failover'])
    assert.equal(world.pool.stats().shards[0]!.generation, 2)
  })

  it('lost: the first refused write leads to the new master, and is not lost', async (t) => {
    const world = await fakeWorld(t)
    world.promote()
    world.master.role = 'slave'
    world.master.refusal = 'READONLY You can not write against a read only replica.'
    assert.equal(await world.pool.set(world.key, 'new'), 'OK')
    assert.equal(world.replica.data.get(world.key), 'new')
    assert.deepEqual(names(world.events), ['shard-down', 'failover'])
  })

  it('lost: the periodic check finds it out without any traffic', async (t) => {
    const world = await fakeWorld(t, { pollIntervalMs: 100 })
    const heard = () => world.pool.stats().sentinels.filter((sentinel) => sentinel.subscribed).length
    await until('the subscriptions', () => heard() === 3)
    // Each of them makes the pool ask as well, once more behind the question under way: 4 commands each time. Whatever
    // begins after those is the periodic check's.
    const asked = world.sentinels[0]!.server.commands.length
    await until('the questions after it', () => world.sentinels[0]!.server.commands.length > asked + 16)
    const followed = nextEvent(world.pool, 'failover', { timeoutMs: 3_000 })
    world.promote()
    assert.equal((await followed).reason, 'periodic-check')
  })

  it('lost: a subscription that was cut is followed by a look at everything', async (t) => {
    const world = await fakeWorld(t)
    await until('the subscriptions', () => world.pool.stats().sentinels.every((sentinel) => sentinel.subscribed))
    const followed = nextEvent(world.pool, 'failover', { timeoutMs: 3_000 })
    world.promote()
    for (const sentinel of world.sentinels) {
      for (const connection of sentinel.server.connections) connection.destroy()
    }
    assert.equal((await followed).reason, 'watch-gap')
  })

  it('late: told of yesterday’s switch, the pool stays', async (t) => {
    const world = await fakeWorld(t)
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    world.tell()
    await followed
    const before = world.pool.stats().shards[0]!.rebuilds
    world.tell(world.replica, world.master)
    await until('a look at it', () => world.pool.stats().shards[0]!.rebuilds > before)
    await world.pool.set(world.key, 'still')
    assert.equal(world.replica.data.get(world.key), 'still')
    assert.deepEqual(names(world.events), ['failover'])
  })

  it('lies: one sentinel alone, message and answer, moves nothing', async (t) => {
    const world = await fakeWorld(t)
    const [liar] = world.sentinels
    liar!.masters.set('cache-a', { address: world.other.address, epoch: 99 })
    const before = world.pool.stats().shards[0]!.rebuilds
    world.tell(world.master, world.other, [liar!])
    await until('a look at it', () => world.pool.stats().shards[0]!.rebuilds > before)
    await world.pool.set(world.key, 'mine')
    assert.equal(world.master.data.get(world.key), 'mine')
    assert.equal(world.other.data.has(world.key), false)
    assert.deepEqual(names(world.events), [])
  })

  it('early: named before it is promoted, the node is asked until it is a master', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    world.promote()
    world.replica.role = 'slave'
    world.master.role = 'slave'
    const followed = nextEvent(world.pool, 'failover')
    const heard = nextEvent(world.pool, 'sentinel')
    world.tell()
    await heard
    const write = world.pool.set(world.key, 'held')
    await until('the node to be asked', () => world.replica.server.accepted > 1)
    assert.equal(world.master.count('SET'), 0)
    world.replica.role = 'master'
    await followed
    assert.equal(await write, 'OK')
    assert.equal(world.replica.data.get(world.key), 'held')
  })

  it('of one shard: the other keeps its very connection and sees no error', async (t) => {
    const world = await fakeWorld(t)
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    world.tell()
    const writes = Array.from({ length: 50 }, (_, i) => world.pool.set(world.otherKey, String(i)))
    await followed
    await Promise.all(writes)
    assert.equal(world.other.server.accepted, 1)
    assert.equal(world.pool.stats().shards[1]!.errors, 0)
  })
})
