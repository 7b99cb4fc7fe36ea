// B012: sentinels name the promoted node before it is a master, or the dead one for seconds more; commands failed instead of waiting.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

describe('the named node is not a master yet', () => {
  it('it is asked again, with the sentinels, until it is; nothing but greetings is sent to it before', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    world.promote()
    world.replica.role = 'slave'
    const asked = () =>
      world.sentinels.reduce(
        (sum, sentinel) =>
          sum + sentinel.server.commands.filter((words) => words[1] === 'GET-MASTER-ADDR-BY-NAME').length,
        0,
      )
    const before = asked()
    const down = nextEvent(world.pool, 'shard-down')
    await world.master.close()
    await down
    const read = world.pool.get(world.key)
    setTimeout(() => {
      world.replica.role = 'master'
    }, 600)
    assert.equal(await read, null)
    assert.ok(asked() - before > 3)
    assert.equal(world.replica.count('GET'), 1)
  })

  it('the sentinels go on naming the dead one: found as soon as they name the new one', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    const down = nextEvent(world.pool, 'shard-down')
    await world.master.close()
    await down
    const read = world.pool.get(world.key)
    setTimeout(() => world.promote(), 600)
    assert.equal(await read, null)
  })

  it('never: the error names the shard and carries the last node and its role', async (t) => {
    const world = await fakeWorld(t)
    world.promote()
    world.replica.role = 'slave'
    const down = nextEvent(world.pool, 'shard-down')
    await world.master.close()
    await down
    const { error } = await ending(world.pool.get(world.key))
    const { code, shard, cause } = error as { code: string; shard: string; cause: { message: string } }
    assert.deepEqual([code, shard], ['SHARD_UNAVAILABLE', 'cache-a'])
    assert.match(cause.message, new RegExp(`:${world.replica.address.port} .*'slave'`))
  })
})
