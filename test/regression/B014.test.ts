// B014: a client called itself ready and sent commands while the restarted server was still loading its data.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

it('a server that loads for a while is waited for within the budget, without a hot loop; a short budget ends in time', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 5_000 })
  const down = nextEvent(world.pool, 'shard-down')
  world.master.refusal = 'LOADING Redis is loading the dataset in memory'
  world.master.refusesAll = true
  world.master.cut()
  await down
  const accepted = world.master.server.accepted
  setTimeout(() => {
    world.master.refusal = undefined
  }, 1_500)
  const write = world.pool.set(world.key, 'value')
  const short = await ending(world.pool.withCommandOptions({ timeout: 500 }).get(world.key))
  assert.ok(short.tookMs < 800, `${short.tookMs} ms`)
  assert.ok(['COMMAND_TIMEOUT', 'SHARD_UNAVAILABLE'].includes((short.error as { code: string }).code))
  assert.equal(await write, 'OK')
  const attempts = world.master.server.accepted - accepted
  assert.ok(attempts < 25, `${attempts} attempts in 1.5 s`)
})
