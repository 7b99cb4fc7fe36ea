// B070: commands queued without bound while the server was away, until the process ran out of memory.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

it('a hundred thousand writes to a shard that is down: bounded memory, refused at once, and none of the refused is ever sent', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 0, maxWaiting: 1_000 } })
  const down = nextEvent(world.pool, 'shard-down')
  await world.master.close()
  await down
  const before = process.memoryUsage().rss
  let refused = 0
  const waiting: Promise<unknown>[] = []
  for (let i = 0; i < 100_000; i++) {
    const call = world.pool.set(world.key, `${i} ${'x'.repeat(1_000)}`)
    if (i < 1_000) waiting.push(ending(call))
    else await call.catch((error: { reason: string }) => (refused += Number(error.reason === 'too-many-waiting')))
  }
  assert.equal(refused, 99_000)
  const grownMb = (process.memoryUsage().rss - before) / 2 ** 20
  assert.ok(grownMb < 200, `${grownMb} MB`)
  assert.equal(await world.pool.set(world.otherKey, 'well'), 'OK')
  await world.master.server.listen()
  await Promise.all(waiting)
  await world.pool.get(world.key)
  assert.ok(
    world.master.executed.filter(([verb, , value]) => verb === 'SET' && Number.parseInt(value!, 10) >= 1_000).length ===
      0,
  )
})
