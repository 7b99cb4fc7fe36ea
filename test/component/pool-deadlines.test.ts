import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ending, type FakeWorld, fakeWorld, OwnLag } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

const TIMEOUT_MS = 500
type Ended = { error: unknown; tookMs: number }

/** By its deadline and 100 ms; what this machine was late itself is not the pool's. */
function assertInTime(ended: readonly Ended[], lag: OwnLag, code: readonly string[], outcome: string): void {
  const ownMs = lag.stop()
  for (const { error, tookMs } of ended) {
    const failure = error as { code: string; outcome: string }
    assert.ok(code.includes(failure?.code), String(error))
    assert.equal(failure.outcome, outcome)
    assert.ok(tookMs <= TIMEOUT_MS + 100 + ownMs, `took ${Math.round(tookMs)} ms, own lag ${Math.round(ownMs)} ms`)
  }
}

describe('a call reaches its deadline', () => {
  it('while it waits for a master', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    const down = nextEvent(world.pool, 'shard-down')
    await world.master.close()
    await down
    const lag = new OwnLag()
    const ended = await Promise.all(Array.from({ length: 100 }, () => ending(world.pool.set(world.key, 'v'))))
    assertInTime(ended, lag, ['SHARD_UNAVAILABLE'], 'not-sent')
  })

  it('in flight, on a server that reads and does not answer', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    world.master.silent = true
    const lag = new OwnLag()
    const calls: Promise<Ended>[] = []
    // Spread over more than one fence.
    for (let i = 0; i < 20; i++) {
      calls.push(ending(world.pool.set(world.key, 'v')))
      await setTimeout(10)
    }
    assertInTime(await Promise.all(calls), lag, ['COMMAND_TIMEOUT', 'CONNECTION_LOST', 'SHARD_UNAVAILABLE'], 'unknown')
  })

  it('as the first after a long idle time, while the clock of the pool sleeps', async (t) => {
    const calls: ((world: FakeWorld) => Promise<unknown>)[] = [
      ({ pool, key }) => pool.set(key, 'v'),
      ({ pool, key }) => pool.withTypeMapping({}).set(key, 'v'),
      ({ pool, key }) => pool.multi().set(key, 'v').exec(),
      ({ pool, key, otherKey }) => pool.mSet([key, 'v', otherKey, 'v']),
    ]
    await Promise.all(
      calls.map(async (call) => {
        const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS, pool: { min: 1 } })
        await setTimeout(2 * TIMEOUT_MS)
        world.master.silent = true
        const lag = new OwnLag()
        const { error, tookMs } = await ending(call(world))
        assert.ok(error !== undefined)
        assert.ok(tookMs <= TIMEOUT_MS + 100 + lag.stop(), `${call}: ${tookMs} ms`)
        assert.ok(tookMs >= TIMEOUT_MS / 2, `${call}: not much too early, ${tookMs} ms`)
      }),
    )
  })

  it('no sooner for having been the first after a long idle time: a lost read is repeated', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    await setTimeout(2 * TIMEOUT_MS)
    world.master.silent = true
    const read = world.pool.get(world.key)
    await setTimeout(20)
    world.master.silent = false
    world.master.cut()
    assert.equal(await read, null)
  })

  it('on a frozen socket, whose buffers are full', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    world.master.server.frozen = true
    const value = 'x'.repeat(1_000_000)
    const lag = new OwnLag()
    const ended = await Promise.all(Array.from({ length: 50 }, () => ending(world.pool.set(world.key, value))))
    assertInTime(ended, lag, ['COMMAND_TIMEOUT', 'CONNECTION_LOST'], 'unknown')
  })

  it('a read that was in flight waits on for the shard, and ends by the same deadline', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    world.master.silent = true
    const lag = new OwnLag()
    const { error, tookMs } = await ending(world.pool.get(world.key))
    assert.ok(error !== undefined)
    assert.ok(tookMs <= TIMEOUT_MS + 100 + lag.stop(), `took ${tookMs} ms`)
  })

  it('of its own, the connection stays for the others', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    const { send } = [...world.master.server.connections][0]!
    const [connection] = [...world.master.server.connections]
    // Slow, not dead: answers come 150 ms late.
    connection!.send = (reply) => void setTimeout(150).then(() => send.call(connection, reply))
    const other = world.pool.set(world.key, 'other')
    const { error, tookMs } = await ending(world.pool.withCommandOptions({ timeout: 50 }).set(world.key, 'mine'))
    assert.deepEqual(
      [(error as { code: string }).code, (error as { outcome: string }).outcome],
      ['COMMAND_TIMEOUT', 'unknown'],
    )
    assert.ok(tookMs < 150, `${tookMs} ms`)
    assert.equal(await other, 'OK')
    assert.equal(await world.pool.get(world.key), 'mine', 'the late reply reached nobody else')
    assert.deepEqual(world.events, [])
    assert.equal(world.master.server.accepted - 1, world.pool.stats().shards[0]!.rebuilds - 1)
  })

  it('by an abort: at once, waiting or in flight, and what was not sent never is', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    const abort = new AbortController()
    const aborting = world.pool.withAbortSignal(abort.signal)
    world.master.silent = true
    const inFlight = ending(aborting.get(world.key))
    await until('it to be sent', () => world.pool.stats().shards[0]!.inFlight === 1)
    abort.abort()
    const { error, tookMs } = await inFlight
    assert.equal((error as Error).name, 'Error')
    assert.equal((error as Error).message, 'The command was aborted')
    assert.ok(tookMs < 1_000)
    assert.equal((await ending(aborting.set(world.key, 'never'))).error instanceof Error, true)
    world.master.silent = false
    assert.equal(world.master.count('SET'), 0)
  })

  it('of a lease: an ordinary call ends, a blocking one does not', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    const lease = await world.pool.acquire(world.key)
    let popped = false
    const pop = lease.client.blPop(world.key, 0).finally(() => {
      popped = true
    })
    pop.catch(() => {})
    const other = await world.pool.acquire(world.key)
    world.master.silent = true
    const lag = new OwnLag()
    assertInTime([await ending(other.client.get(world.key))], lag, ['COMMAND_TIMEOUT'], 'unknown')
    assert.equal(popped, false)
    await other.release()
    // The server answers nobody now: after another deadline the pop is given up as well.
    const { error } = await ending(pop)
    assert.equal((error as { code: string }).code, 'CONNECTION_LOST')
    await lease.release()
  })
})

it('a blocking command waits for its connection no longer than for an answer, however long a lease may be waited for', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS, pool: { min: 0, max: 1, acquireTimeoutMs: 20_000 } })
  const lease = await world.pool.acquire(world.key)
  const lag = new OwnLag()
  const { error, tookMs } = await ending(world.pool.blPop(world.key, 0.1))
  const ownMs = lag.stop()
  assert.equal((error as { code: string }).code, 'ACQUIRE_TIMEOUT')
  assert.ok(tookMs >= TIMEOUT_MS - 20 && tookMs <= TIMEOUT_MS + 200 + ownMs, `${tookMs} ms`)
  await lease.release()
})
