// B047: every failover left connections and objects of the old pool behind.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fakeWorld } from '../support/fake-world.js'
import { activeResources } from '../support/sockets.js'
import { nextEvent, until } from '../support/waiting.js'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

it('thirty alternating failovers under load: sockets, timers and heap are as after the first ten', {
  timeout: 60_000,
}, async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: 3_000, pool: { min: 1, max: 4 } })
  let [from, to] = [world.master, world.replica]
  const samples: { heap: number; sockets: number; timers: number }[] = []
  for (let round = 1; round <= 30; round++) {
    const followed = nextEvent(world.pool, 'failover')
    from.role = 'slave'
    to.role = 'master'
    for (const sentinel of world.sentinels) {
      sentinel.masters.set('cache-a', { address: to.address, epoch: round + 1, replicas: [from.address] })
    }
    const lease = await world.pool.acquire(world.key)
    world.tell(from, to)
    await followed
    await lease.release()
    await Promise.all(Array.from({ length: 20 }, (_, i) => world.pool.set(world.key, String(i))))
    await until('the lease connection', () => world.pool.stats().shards[0]!.leases.idle >= 1)
    await until('the old one to see them go', () => from.server.connections.size === 0)
    for (const redis of [world.master, world.replica]) redis.executed.length = 0
    collect()
    samples.push({
      heap: process.memoryUsage().heapUsed,
      sockets: to.server.connections.size,
      timers: activeResources().Timeout ?? 0,
    })
    ;[from, to] = [to, from]
  }
  assert.equal(world.pool.stats().shards[0]!.generation, 31)
  const late = samples.slice(20)
  assert.ok(
    late.every(({ sockets }) => sockets <= 1 + 2),
    JSON.stringify(late.map((one) => one.sockets)),
  )
  assert.ok(
    Math.max(...late.map((one) => one.timers)) <= Math.max(...samples.slice(0, 10).map((one) => one.timers)) + 2,
  )
  const lowest = (part: typeof samples) => Math.min(...part.map((one) => one.heap))
  const growth = (lowest(samples.slice(20)) - lowest(samples.slice(5, 15))) / 15
  assert.ok(growth < 30_000, `${Math.round(growth)} bytes a failover`)
})
