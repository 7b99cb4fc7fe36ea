// B003: after a manual failover, with the sentinels' messages lost, pooled connections stayed on the demoted node and answered READONLY for ever.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'

it('the first READONLY rebuilds that shard alone, and the write is repeated on the new master', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
  await world.pool.set(world.otherKey, 'before')
  world.promote()
  world.master.role = 'slave'
  world.master.refusal = 'READONLY You can not write against a read only replica.'
  const writes = Array.from({ length: 50 }, (_, i) => world.pool.set(`${world.key}`, String(i)))
  assert.deepEqual(new Set(await Promise.all(writes)), new Set(['OK']))
  assert.equal(world.replica.count('SET'), 50)
  const asked = world.master.server.commands.length
  for (let i = 0; i < 20; i++) await world.pool.get(world.key)
  assert.equal(world.replica.count('GET'), 20)
  assert.equal(world.master.server.commands.length, Math.min(asked, world.master.server.commands.length))
  assert.equal(world.master.server.connections.size, 0)
  assert.equal(world.other.server.accepted, 1)
  assert.deepEqual(
    world.events.map(([name]) => name),
    ['shard-down', 'failover'],
  )
})
