import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ErrorReply } from '../../src/redis-client.js'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('a server that refuses', () => {
  for (const refusal of [
    'LOADING Redis is loading the dataset in memory',
    'NOREPLICAS Not enough good replicas to write.',
    'BUSY Redis is busy running a script.',
    'TRYAGAIN Multiple keys request during rehashing of slot',
  ]) {
    const [word] = refusal.split(' ')
    it(`for a while (${word}): the call waits it out on the same connection`, async (t) => {
      const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
      world.master.refusal = refusal
      world.master.refusesAll = word !== 'NOREPLICAS'
      const write = world.pool.set(world.key, 'kept')
      await until('some repeats', () => world.pool.stats().shards[0]!.repeats >= 3)
      world.master.refusal = undefined
      assert.equal(await write, 'OK')
      assert.equal(world.master.count('SET'), 1)
      assert.deepEqual(world.events, [])
      assert.equal(world.master.server.accepted, 1)
    })

    it(`for good (${word}): the call ends by its deadline with the server’s words, and asks some ten times, not thousands`, async (t) => {
      const world = await fakeWorld(t)
      world.master.refusal = refusal
      const { error, tookMs } = await ending(world.pool.set(world.key, 'v'))
      assert.ok(error instanceof ErrorReply && error.message === refusal, String(error))
      assert.ok(tookMs < 1_000, `${tookMs} ms`)
      assert.ok(world.pool.stats().shards[0]!.repeats < 30)
      assert.equal(world.pool.stats().shards[0]!.generation, 1)
    })
  }

  it('because it is a replica now (MASTERDOWN): the master is looked for', async (t) => {
    const world = await fakeWorld(t)
    world.promote()
    world.master.role = 'slave'
    world.master.refusal = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
    assert.equal(await world.pool.get(world.key), null)
    assert.equal(world.replica.count('GET'), 1)
    assert.equal((world.events[0]![1] as { reason: string }).reason, 'master-down-reply')
  })

  it('the login (NOAUTH): the connection is made anew, and the call repeated', async (t) => {
    const world = await fakeWorld(t)
    world.master.refusal = 'NOAUTH Authentication required.'
    const write = world.pool.set(world.key, 'v')
    await until('another connection', () => world.master.server.accepted > 1)
    world.master.refusal = undefined
    assert.equal(await write, 'OK')
  })

  it('the command itself: the error is the caller’s, and nothing is repeated', async (t) => {
    const world = await fakeWorld(t)
    world.master.refusal = 'WRONGTYPE Operation against a key holding the wrong kind of value'
    await assert.rejects(world.pool.set(world.key, 'v'), ErrorReply)
    assert.equal(world.pool.stats().shards[0]!.repeats, 0)
  })

  it('while it is loading after a restart it is not put into service', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    world.master.refusal = 'LOADING Redis is loading the dataset in memory'
    world.master.refusesAll = true
    const down = nextEvent(world.pool, 'shard-down')
    world.master.cut()
    await down
    const write = world.pool.set(world.key, 'v')
    await until('some attempts', () => world.master.server.accepted > 3)
    assert.equal(world.master.count('SET'), 0)
    world.master.refusal = undefined
    assert.equal(await write, 'OK')
    assert.deepEqual(
      world.events.map(([name]) => name),
      ['shard-down', 'reconnect'],
    )
  })
})
