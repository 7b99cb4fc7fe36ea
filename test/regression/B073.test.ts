// B073: one shard that could not be reached at start made the whole client unusable.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

describe('one shard is down at the start', () => {
  it('by default connect rejects with the reason, and leaves no connection to the others', async (t) => {
    const world = await fakeWorld(t, { connectDeadlineMs: 1_500 })
    await world.pool.close()
    await world.master.close()
    const { error, tookMs } = await ending(world.pool.connect())
    assert.match(String((error as Error).message), /cache-a/)
    assert.ok(tookMs < 2_500, `${tookMs} ms`)
    await until('the other to see it', () => world.other.server.connections.size === 0)
  })

  it('with requireAllShards false the others work at once, it joins by itself, and the keys stay where they are', async (t) => {
    const world = await fakeWorld(t, { requireAllShards: false })
    await world.pool.close()
    await world.master.close()
    const startedAt = performance.now()
    await world.pool.connect()
    assert.ok(performance.now() - startedAt < 2_000)
    assert.deepEqual(
      world.pool.shards.map(({ state }) => state),
      ['connecting', 'ready'],
    )
    assert.equal(world.pool.locate(world.key), 'cache-a')
    assert.equal(await world.pool.set(world.otherKey, 'well'), 'OK')
    const { error } = await ending(world.pool.set(world.key, 'v'))
    assert.deepEqual(
      [(error as { code: string }).code, (error as { shard: string }).shard],
      ['SHARD_UNAVAILABLE', 'cache-a'],
    )
    await world.master.server.listen()
    await until('it to join', () => world.pool.shards[0]!.state === 'ready', 3_000)
    assert.equal(await world.pool.set(world.key, 'joined'), 'OK')
  })
})
