// B031: one failover, told by several sentinels and seen by replies and checks at once, rebuilt the pool many times and flooded the new master.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

it('messages, READONLY replies and the periodic check at once are one rebuild, and connections stay within max + 1', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pollIntervalMs: 100, pool: { min: 2, max: 5 } })
  let peak = 0
  const sampling = setInterval(() => {
    peak = Math.max(peak, world.replica.server.connections.size)
  }, 1)
  t.after(() => clearInterval(sampling))
  const leases = await Promise.all(Array.from({ length: 5 }, () => world.pool.acquire(world.key)))
  const followed = nextEvent(world.pool, 'failover')
  world.promote()
  world.master.role = 'slave'
  world.master.refusal = 'READONLY You can not write against a read only replica.'
  const writes = Array.from({ length: 100 }, (_, i) => world.pool.set(world.key, String(i)))
  for (let i = 0; i < 5; i++) world.tell()
  await followed
  for (let i = 0; i < 5; i++) world.tell()
  for (const lease of leases) await lease.release()
  await Promise.all(writes)
  await Promise.all(Array.from({ length: 50 }, () => world.pool.use(world.key, (client) => client.get(world.key))))
  await until('some periodic checks', async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    return true
  })
  const [shard] = world.pool.stats().shards
  assert.deepEqual([shard!.generation, shard!.failovers, shard!.reconnects], [2, 1, 0])
  assert.ok(peak <= 5 + 1 + 1, `${peak} connections at once`)
})
