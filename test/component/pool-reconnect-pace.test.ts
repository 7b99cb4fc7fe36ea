import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ending, type FakeWorld, fakeWorld } from '../support/fake-world.js'

/** Connections that a server accepts in each second, for as long as the trouble lasts. */
async function accepted(server: { accepted: number }, seconds: number): Promise<number[]> {
  const perSecond: number[] = []
  for (let i = 0; i < seconds; i++) {
    const before = server.accepted
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    perSecond.push(server.accepted - before)
  }
  return perSecond
}

/** Load that never stops: reads and writes, each again as soon as it has ended. */
function load(t: TestContext, calls: readonly (() => Promise<unknown>)[]): void {
  let over = false
  t.after(() => {
    over = true
  })
  for (const call of calls) {
    void (async () => {
      while (!over) {
        await ending(call())
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
  }
}

/** 10 at once, then 5 a second, as the documentation says; `own` for leases and the like. */
function assertPaced(t: TestContext, perSecond: readonly number[], first: number, later: number): void {
  t.diagnostic(`connections per second: ${perSecond}; bounds ${first}, then ${later}`)
  const [one, ...others] = perSecond
  assert.ok(one! <= first, `${perSecond} per second`)
  for (const count of others.slice(1)) assert.ok(count <= later, `${perSecond} per second`)
  assert.ok(perSecond.at(-1)! >= 1, `it is not given up: ${perSecond} per second`)
}

const cutAt = (world: FakeWorld, verbs: readonly string[]) => {
  const { server } = world.master
  const timer = setInterval(() => {
    for (const connection of server.connections) {
      if (connection.commands.some(([verb]) => verbs.includes(verb!))) connection.destroy()
    }
  }, 1)
  return () => clearInterval(timer)
}

describe('connections that are lost again and again are made anew at a bounded pace', () => {
  it('a server that proves to be the master and then cuts; load goes on all the time', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    t.after(cutAt(world, ['ROLE']))
    load(t, [
      () => world.pool.get(world.key),
      () => world.pool.set(world.key, 'v'),
      () => world.pool.withCommandOptions({ timeout: 2_000 }).get(world.key),
    ])
    assertPaced(t, await accepted(world.master.server, 5), 15 + 13, 5 + 4 + 2)
    assert.equal(world.other.server.accepted, 1)
  })

  it('a server that accepts and at once closes', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    const { server } = world.master
    const timer = setInterval(() => world.master.cut(), 0)
    t.after(() => clearInterval(timer))
    load(t, [() => world.pool.get(world.key)])
    assertPaced(t, await accepted(server, 4), 15, 7)
  })

  it('messages that name another node each time, and all of them the wrong one', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000 })
    load(t, [() => world.pool.get(world.key)])
    const timer = setInterval(() => {
      const words = [
        'cache-a',
        world.master.address.host,
        world.master.address.port,
        '127.0.0.1',
        1 + (Date.now() % 999),
      ]
      world.sentinels[0]!.publish('+switch-master', words.join(' '))
    }, 5)
    t.after(() => clearInterval(timer))
    assertPaced(t, await accepted(world.master.server, 4), 15, 7)
    assert.equal((await ending(world.pool.get(world.key))).error, undefined)
  })

  it('leases whose connections are cut as soon as they are made', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 1_000, pool: { min: 0, max: 4 } })
    const shared = [...world.master.server.connections][0]
    const timer = setInterval(() => {
      for (const connection of world.master.server.connections) if (connection !== shared) connection.destroy()
    }, 1)
    t.after(() => clearInterval(timer))
    load(
      t,
      Array.from({ length: 8 }, () => () => world.pool.use(world.key, (client) => client.get(world.key))),
    )
    const perSecond = await accepted(world.master.server, 5)
    assertPaced(t, perSecond, 15 + 8 + 4 + 4, 5 + 4 + 4)
  })

  it('leases and long calls that go well are not held up, however many', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 0, max: 50 } })
    const startedAt = performance.now()
    for (let round = 0; round < 5; round++) {
      const leases = await Promise.all(Array.from({ length: 50 }, () => world.pool.acquire(world.key)))
      for (const lease of leases) lease.discard()
    }
    assert.ok(performance.now() - startedAt < 3_000, `${performance.now() - startedAt} ms`)
    assert.ok(world.master.server.accepted >= 250)
  })

  it('questions to replicas, however often the sentinels speak of them; none lasts longer than its time', async (t) => {
    const world = await fakeWorld(t, { readFrom: 'preferReplica', connectTimeoutMs: 300 })
    await world.pool.get(world.key)
    const timer = setInterval(() => {
      world.sentinels[0]!.publish(
        '+slave',
        `slave x 127.0.0.1 1 @ cache-a ${world.master.address.host} ${world.master.address.port}`,
      )
    }, 2)
    t.after(() => clearInterval(timer))
    const before = world.replica.server.accepted
    const perSecond = await accepted(world.replica.server, 4)
    assert.ok(world.replica.server.accepted - before >= 3, `${perSecond}`)
    for (const count of perSecond.slice(1)) assert.ok(count <= 4, `${perSecond} per second`)
    // One that never answers.
    world.replica.silent = true
    let most = 0
    for (let i = 0; i < 100; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      most = Math.max(most, world.replica.server.connections.size)
    }
    assert.ok(most <= 3, `${most} at once`)
  })
})
