// B010: a switch of somebody else's master made the client reconnect. B028: an unhandled 'error' event of an internal connection killed the process.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

describe('the pool is not moved by', () => {
  it('B010: switches of other masters, however many and however alike their names', async (t) => {
    const world = await fakeWorld(t)
    await until('the subscriptions', () => world.pool.stats().sentinels.every((sentinel) => sentinel.subscribed))
    const { host, port } = world.other.address
    for (let i = 0; i < 500; i++) {
      for (const name of [`cache-a${i}`, 'cache', 'cache-a ', `x${i}`]) {
        world.sentinels[0]!.publish('+switch-master', `${name} 127.0.0.1 1 ${host} ${port}`)
      }
    }
    const followed = nextEvent(world.pool, 'failover')
    world.promote()
    world.tell()
    assert.equal((await followed).shard, 'cache-a')
    assert.equal(world.pool.stats().shards[0]!.generation, 2)
    assert.equal(world.pool.stats().shards[1]!.generation, 1)
  })

  it('B028: resets of every connection at any moment, with no error listener anywhere', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 1, max: 2 } })
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    process.on('uncaughtException', note)
    t.after(() => {
      process.off('unhandledRejection', note)
      process.off('uncaughtException', note)
    })
    for (let round = 0; round < 20; round++) {
      const calls = Array.from({ length: 10 }, () => world.pool.get(world.key))
      const use = world.pool.use(world.key, (client) => client.get(world.key)).catch(() => {})
      for (const server of [world.master, world.other, ...world.sentinels]) {
        for (const connection of server.server.connections) connection.destroy()
      }
      await Promise.all([...calls, use])
    }
    assert.deepEqual(unhandled, [])
  })
})
