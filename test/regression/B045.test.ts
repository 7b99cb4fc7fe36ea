// B045: after close() connections to sentinels stayed open: lookups, the losers of parallel questions, subscribers.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ShardedSentinelPool } from '../../src/index.js'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

it('twenty lives, some with a name that nobody knows or a sentinel that is frozen: no sentinel keeps a connection', async (t) => {
  const world = await fakeWorld(t)
  await world.pool.close()
  const servers = [world.master, world.other, ...world.sentinels]
  for (let life = 0; life < 20; life++) {
    world.sentinels[0]!.server.frozen = life % 4 === 1
    const names = life % 4 === 2 ? ['cache-a', 'unknown'] : ['cache-a', 'cache-b']
    const pool = new ShardedSentinelPool({
      masters: names,
      sentinels: world.sentinels.map((sentinel) => sentinel.address),
      placementGuard: 'off',
      connectDeadlineMs: 2_000,
    })
    const { error } = await ending(pool.connect())
    assert.equal((error as { code?: string } | undefined)?.code, life % 4 === 2 ? 'UNKNOWN_MASTER' : undefined)
    for (const sentinel of world.sentinels) {
      const { size } = sentinel.server.connections
      assert.ok(size <= 2, `${size} connections to one sentinel`)
    }
    await pool.close()
    await until('everybody to see it', () => servers.every(({ server }) => server.connections.size === 0))
  }
})
