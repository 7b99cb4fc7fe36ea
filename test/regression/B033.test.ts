// B033: acquire neither resolved nor rejected while no connection could be made, and the pool spun, making connections.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'
import { nextEvent } from '../support/waiting.js'

it('acquire ends in time with the true reason, tries are spaced, and when the node is back the next is served', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 0, acquireTimeoutMs: 1_000 } })
  const down = nextEvent(world.pool, 'shard-down')
  await world.master.close()
  await down
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  await assert.rejects(world.pool.acquire(world.key), (error: Error & { code: string }) => {
    assert.equal(error.code, 'ACQUIRE_TIMEOUT')
    assert.match(String((error.cause as Error).message), /ECONNREFUSED/)
    return true
  })
  const tookMs = performance.now() - startedAt
  assert.ok(tookMs > 900 && tookMs < 1_500, `${tookMs} ms`)
  const { user, system } = process.cpuUsage(cpu)
  assert.ok((user + system) / 1_000 < tookMs * 0.6, 'it does not spin')

  // It lets in and throws out at once.
  await world.master.server.listen()
  const { accepted } = world.master.server
  const cutting = setInterval(() => world.master.cut(), 1)
  t.after(() => clearInterval(cutting))
  await assert.rejects(world.pool.acquire(world.key), { code: 'ACQUIRE_TIMEOUT' })
  const tries = world.master.server.accepted - accepted
  assert.ok(tries < 40, `${tries} tries in a second`)
  clearInterval(cutting)
  const lease = await world.pool.acquire(world.key)
  assert.equal(await lease.client.set(world.key, 'back'), 'OK')
  await lease.release()
})
