import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, type FakeWorld, fakeWorld } from '../support/fake-world.js'
import { activeResources, socketsTo } from '../support/sockets.js'
import { until } from '../support/waiting.js'

const ports = (world: FakeWorld) =>
  [world.master, world.replica, world.other, ...world.sentinels].map((server) => server.address.port)

/** No socket of the pool is left; the servers' own ends close a moment after. */
async function assertGone(world: FakeWorld): Promise<void> {
  for (const port of ports(world)) assert.equal(socketsTo(port), 0, `sockets to ${port}`)
  const servers = [world.master, world.replica, world.other, ...world.sentinels]
  await until('the servers to see it', () => servers.every(({ server }) => server.connections.size === 0))
}

describe('connect, close and destroy', () => {
  it('again and again: everything is counted back to what it was', async (t) => {
    const world = await fakeWorld(t)
    await world.pool.close()
    await assertGone(world)
    const timers = () => activeResources().Timeout ?? 0
    const before = timers()
    for (let round = 0; round < 20; round++) {
      await world.pool.connect()
      assert.equal(await world.pool.set(world.key, String(round)), 'OK')
      if (round % 2 === 0) await world.pool.close()
      else world.pool.destroy()
      await assertGone(world)
      assert.equal(world.pool.isOpen, false)
    }
    assert.equal(timers(), before)
    assert.ok(world.pool.eventNames().length <= 3, 'only the listeners of this test')
  })

  it('twice: the same connect, the same close', async (t) => {
    const world = await fakeWorld(t)
    await Promise.all([world.pool.connect(), world.pool.connect()])
    const closing = world.pool.close()
    assert.equal(world.pool.close(), closing)
    await closing
    await world.pool.close()
    world.pool.destroy()
    world.pool.destroy()
    await assertGone(world)
  })

  it('close during connect: connect rejects, nothing is left', async (t) => {
    const world = await fakeWorld(t)
    await world.pool.close()
    for (const after of [0, 1, 5]) {
      const connecting = ending(world.pool.connect())
      if (after > 0) await new Promise((resolve) => setTimeout(resolve, after))
      await world.pool.close()
      await connecting
      world.pool.destroy()
      await assertGone(world)
    }
  })

  it('destroy during connect, and connect again in the same breath', async (t) => {
    const world = await fakeWorld(t)
    await world.pool.close()
    const connecting = ending(world.pool.connect())
    world.pool.destroy()
    const again = world.pool.connect()
    assert.equal(((await connecting).error as { code: string }).code, 'POOL_CLOSED')
    await again
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
  })

  it('destroy during close, and connect during close', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    world.master.silent = true
    const call = ending(world.pool.set(world.key, 'v'))
    const startedAt = performance.now()
    const closing = world.pool.close()
    world.pool.destroy()
    await closing
    assert.ok(performance.now() - startedAt < 500)
    assert.equal(((await call).error as { code: string }).code, 'POOL_CLOSED')
    world.master.silent = false
    await world.pool.connect()
    const again = world.pool.close()
    await world.pool.connect()
    await again
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
  })

  it('close, connect and close in one breath: the last one holds, and connect says so', async (t) => {
    const world = await fakeWorld(t)
    for (const end of ['close', 'destroy'] as const) {
      const closing = world.pool.close()
      const connecting = ending(world.pool.connect())
      await Promise.all([closing, world.pool[end]()])
      assert.equal(((await connecting).error as { code: string }).code, 'POOL_CLOSED')
      assert.equal(world.pool.isOpen, false)
      await assertGone(world)
      await world.pool.connect()
    }
    // The same where the first connect was still under way.
    await world.pool.close()
    const first = ending(world.pool.connect())
    void world.pool.close()
    const second = ending(world.pool.connect())
    await world.pool.close()
    for (const { error } of await Promise.all([first, second])) {
      assert.equal((error as { code: string }).code, 'POOL_CLOSED')
    }
    assert.equal(world.pool.isOpen, false)
    await assertGone(world)
    await world.pool.connect()
    assert.equal(await world.pool.set(world.key, 'v'), 'OK')
  })

  it("a shard's handle takes nothing more once close has begun, and shows the shard as closed after it", async (t) => {
    const world = await fakeWorld(t)
    const [handle] = world.pool.shards
    const lease = await world.pool.acquire(world.key)
    const closing = world.pool.close({ timeoutMs: 5_000 })
    await assert.rejects(handle!.sendCommand(['PING']), { code: 'POOL_CLOSED' })
    await assert.rejects(
      handle!.use(() => 1),
      { code: 'POOL_CLOSED' },
    )
    await lease.release()
    await closing
    assert.equal(handle!.state, 'closed')
  })

  it("commands of a shard's handle and of the pool keep the order they were called in", async (t) => {
    const world = await fakeWorld(t)
    const { pool, key } = world
    await Promise.all([pool.set(key, 'a'), pool.shards[0]!.sendCommand(['SET', key, 'b']), pool.set(key, 'c')])
    await Promise.all([pool.set(key, 'd'), pool.shards[0]!.sendCommand(['SET', key, 'e'])])
    assert.equal(world.master.data.get(key), 'e')
  })

  it('close while everybody is frozen ends at its bound', async (t) => {
    const world = await fakeWorld(t)
    for (const { server } of [world.master, world.other, ...world.sentinels]) server.frozen = true
    const calls = [ending(world.pool.set(world.key, 'v')), ending(world.pool.get(world.otherKey))]
    const startedAt = performance.now()
    await world.pool.close({ timeoutMs: 200 })
    assert.ok(performance.now() - startedAt < 400)
    for (const { error } of await Promise.all(calls)) assert.equal((error as { code: string }).code, 'POOL_CLOSED')
    for (const port of ports(world)) assert.equal(socketsTo(port), 0)
  })

  it('close during connect while everybody is frozen takes no time', async (t) => {
    const world = await fakeWorld(t, { placementGuard: 'check' } as never)
    await world.pool.close()
    world.master.silent = true
    const connecting = ending(world.pool.connect())
    await until('a connection', () => world.master.server.accepted > 1)
    const startedAt = performance.now()
    await world.pool.close()
    assert.ok(performance.now() - startedAt < 200)
    assert.equal(((await connecting).error as { code: string }).code, 'POOL_CLOSED')
  })

  it('close during the placement check takes no time', async (t) => {
    const world = await fakeWorld(t, { placementGuard: 'check', commandTimeoutMs: 5_000 })
    await world.pool.close()
    world.master.breaksAfter = 0
    const connecting = ending(world.pool.connect())
    const asked = world.master.count('GET')
    await until('the check', () => world.master.count('GET') > asked)
    const startedAt = performance.now()
    await world.pool.close()
    assert.ok(performance.now() - startedAt < 300)
    assert.equal(((await connecting).error as { code: string }).code, 'POOL_CLOSED')
    await assertGone(world)
  })

  it('close waits for a lease, destroy does not', async (t) => {
    const world = await fakeWorld(t)
    const lease = await world.pool.acquire(world.key)
    const closing = world.pool.close({ timeoutMs: 5_000 })
    assert.equal(await lease.client.set(world.key, 'still'), 'OK')
    await lease.release()
    await closing
    assert.equal(world.master.data.get(world.key), 'still')
    await world.pool.connect()
    const other = await world.pool.acquire(world.key)
    world.pool.destroy()
    assert.equal(other.state, 'closed')
    await assert.rejects(other.client.get(world.key), { code: 'LEASE_RELEASED', why: 'closed' })
    await other.release()
    await assertGone(world)
  })

  it('close under load cuts no `use` that has begun, whoever waits for a connection meanwhile', async (t) => {
    const world = await fakeWorld(t, { pool: { min: 1, max: 2 } })
    for (let round = 0; round < 10; round++) {
      if (round > 0) await world.pool.connect()
      let begun = 0
      let done = 0
      const worker = async () => {
        for (;;) {
          const { error } = await ending(
            world.pool.use(world.key, async (client) => {
              begun++
              await client.set(world.key, String(round))
              await client.get(world.key)
              done++
            }),
          )
          if (error !== undefined) return (error as { code: string }).code
        }
      }
      const workers = Array.from({ length: 12 }, worker)
      await until('some turns', () => done > 20)
      await world.pool.close()
      assert.deepEqual(new Set(await Promise.all(workers)), new Set(['POOL_CLOSED']))
      assert.equal(done, begun)
      const { size, idle, borrowed, pending } = world.pool.stats().shards[0]!.leases
      assert.deepEqual({ size, idle, borrowed, pending }, { size: 0, idle: 0, borrowed: 0, pending: 0 })
    }
  })

  it('a call before connect and after close is told at once', async (t) => {
    const world = await fakeWorld(t)
    await world.pool.close()
    await assert.rejects(world.pool.get(world.key), { code: 'POOL_CLOSED', outcome: 'not-sent' })
    await assert.rejects(world.pool.acquire(world.key), { code: 'POOL_CLOSED' })
  })
})
