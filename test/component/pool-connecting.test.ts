import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ending, type FakeWorld, fakeWorld, OwnLag } from '../support/fake-world.js'

const TIMEOUT_MS = 1_500
const WAIT_MS = 300

/** A pool whose `connect()` is under way and succeeds after `WAIT_MS`. */
async function connecting(t: Parameters<typeof fakeWorld>[0]): Promise<FakeWorld & { connected: Promise<unknown> }> {
  const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS, connectTimeoutMs: 100, connectDeadlineMs: 5_000 })
  await world.pool.close()
  world.master.silent = true
  const connected = world.pool.connect()
  setTimeout(() => {
    world.master.silent = false
  }, WAIT_MS)
  return { ...world, connected }
}

type Failure = { code: string; outcome: string; timeoutMs: number }

describe('a call that waits for connect() has one deadline, from when it was made', () => {
  it('in flight after it', async (t) => {
    const world = await connecting(t)
    world.master.mute.add('SET')
    const lag = new OwnLag()
    const calls = [
      world.pool.set(world.key, 'v'),
      world.pool.pipeline().set(world.key, 'v').set(world.key, 'w').exec(),
      world.pool.sendCommand(['SET', world.key, 'v']),
      world.pool.shards[0]!.sendCommand(['SET', world.key, 'v']),
      world.pool.withTypeMapping({}).set(world.key, 'v'),
    ].map(ending)
    await world.connected
    const ownMs = lag.stop()
    for (const { error, reply, tookMs } of await Promise.all(calls)) {
      assert.ok(error !== undefined, `answered: ${String(reply)}`)
      const { code, outcome, timeoutMs } = error as Failure
      assert.deepEqual([code, outcome, timeoutMs], ['COMMAND_TIMEOUT', 'unknown', TIMEOUT_MS])
      // A fence may give up a little early.
      assert.ok(tookMs >= TIMEOUT_MS - 300 && tookMs <= TIMEOUT_MS + 150 + ownMs, `${tookMs} ms`)
    }
  })

  it('repeated after it', async (t) => {
    const world = await connecting(t)
    world.master.refusal = 'NOREPLICAS Not enough good replicas to write.'
    const lag = new OwnLag()
    const { error, tookMs } = await ending(world.pool.set(world.key, 'v'))
    const ownMs = lag.stop()
    assert.match(String(error), /NOREPLICAS/)
    assert.ok(tookMs >= TIMEOUT_MS - 300 && tookMs <= TIMEOUT_MS + 150 + ownMs, `${tookMs} ms, own lag ${ownMs} ms`)
  })

  it('with a time-out of its own, which its error names', async (t) => {
    const world = await connecting(t)
    world.master.mute.add('SET')
    const lag = new OwnLag()
    const { error, tookMs } = await ending(world.pool.withCommandOptions({ timeout: 1_200 }).set(world.key, 'v'))
    const { code, outcome, timeoutMs } = error as Failure
    assert.deepEqual([code, outcome, timeoutMs], ['COMMAND_TIMEOUT', 'unknown', 1_200])
    assert.ok(tookMs >= 1_150 && tookMs <= 1_350 + lag.stop(), `${tookMs} ms`)
  })

  it('still waiting', async (t) => {
    const world = await connecting(t)
    const lag = new OwnLag()
    const { error, tookMs } = await ending(world.pool.withCommandOptions({ timeout: 200 }).set(world.key, 'v'))
    const { code, outcome } = error as Failure
    assert.deepEqual([code, outcome], ['SHARD_UNAVAILABLE', 'not-sent'])
    assert.ok(tookMs <= 300 + lag.stop(), `${tookMs} ms`)
    await world.connected
    assert.equal(world.master.count('SET'), 0)
  })
})

describe('inside a listener', () => {
  it("of 'connect' calls and connect() wait for it; close() ends it", async (t) => {
    const world = await fakeWorld(t)
    await world.pool.close()
    const calls: Promise<unknown>[] = []
    world.pool.once('connect', () => {
      calls.push(world.pool.set(world.key, 'early'), world.pool.get(world.otherKey), world.pool.connect())
      calls.push(world.pool.use(world.key, (client) => client.get(world.key)))
    })
    await world.pool.connect()
    assert.deepEqual((await Promise.all(calls)).slice(0, 2), ['OK', null])
    assert.equal(world.master.data.get(world.key), 'early')
    await world.pool.close()
    let closed: Promise<void> | undefined
    world.pool.once('connect', () => {
      closed = world.pool.close()
    })
    await assert.rejects(world.pool.connect(), { code: 'POOL_CLOSED' })
    await closed
    assert.equal(world.pool.isOpen, false)
  })

  it("of 'ready' and 'end' the pool is as they say: calls work, connect() may follow", async (t) => {
    const world = await fakeWorld(t)
    let again: Promise<unknown> | undefined
    world.pool.once('end', () => {
      again = world.pool.connect().then(() => world.pool.set(world.key, 'again'))
    })
    await world.pool.close()
    assert.equal(await again, 'OK')
    await world.pool.close()
    let called: Promise<unknown> | undefined
    world.pool.once('ready', () => {
      called = world.pool.get(world.key)
    })
    await world.pool.connect()
    assert.equal(await called, 'again')
  })
})

it('a lease that waits for connect() has one bound, from when it was asked for', async (t) => {
  const acquireTimeoutMs = 1_500
  const options = { pool: { min: 0, max: 1, acquireTimeoutMs }, connectTimeoutMs: 100, connectDeadlineMs: 5_000 }
  const world = await fakeWorld(t, options)
  await world.pool.close()
  world.master.silent = true
  const connected = world.pool.connect()
  const waits = [
    ending(world.pool.use(world.key, () => new Promise((resolve) => setTimeout(resolve, 3_000)))),
    ending(world.pool.use(world.key, async () => 'late')),
    ending(world.pool.acquire(world.key)),
    ending(world.pool.shards[0]!.use(async () => 'late')),
  ]
  setTimeout(() => {
    world.master.silent = false
  }, 600)
  const lag = new OwnLag()
  await connected
  const late = await Promise.all(waits.slice(1))
  const ownMs = lag.stop()
  for (const { error, tookMs } of late) {
    assert.equal((error as Failure).code, 'ACQUIRE_TIMEOUT')
    assert.ok(tookMs >= acquireTimeoutMs - 100 && tookMs <= acquireTimeoutMs + 200 + ownMs, `${tookMs} ms`)
  }
  await waits[0]
})
