import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ending, type FakeWorld, fakeWorld } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

async function outage(world: FakeWorld): Promise<void> {
  const down = nextEvent(world.pool, 'shard-down')
  await world.master.close()
  await down
}

/** Without what the fake of the other shard has noted. */
async function heapMb({ other }: FakeWorld): Promise<number> {
  other.executed.length = 0
  for (const { commands } of other.server.connections) commands.length = 0
  // What a collection finds to finalize is free at the next one.
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    gc()
  }
  return process.memoryUsage().heapUsed / 2 ** 20
}

describe('a shard that is down for long', () => {
  it('costs no more memory the longer it lasts, under load: 60 deadlines, 5 minutes by the default one', async (t) => {
    const deadlineMs = 100
    const world = await fakeWorld(t, { commandTimeoutMs: deadlineMs, pool: { min: 0, maxWaiting: 1_000 } })
    await outage(world)
    const { pool, key, otherKey } = world
    const patient = pool.withCommandOptions({ timeout: 3 * deadlineMs })
    const value = 'x'.repeat(1_000)
    const abort = new AbortController()
    const aborting = pool.withAbortSignal(abort.signal)
    let calls = 0
    const load = async (ms: number) => {
      for (const end = performance.now() + ms; performance.now() < end; ) {
        for (let i = 0; i < 25; i++) {
          for (const call of [pool.set(key, value), patient.get(key), aborting.get(key), pool.mGet([key, otherKey])]) {
            call.catch(() => {})
            calls++
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    await load(20 * deadlineMs)
    const before = await heapMb(world)
    const callsBefore = calls
    await load(40 * deadlineMs)
    const after = await heapMb(world)
    t.diagnostic(`${before.toFixed(1)} MB after ${callsBefore} calls, ${after.toFixed(1)} MB after ${calls}`)
    assert.ok(calls > 10_000, `${calls}`)
    assert.ok(after - before < 1.5, `${before.toFixed(1)} -> ${after.toFixed(1)} MB`)
    await until('everybody to be told', () => pool.stats().shards[0]!.waiting === 0)
    assert.equal(pool.stats().shards[0]!.inFlight, 0)
  })

  it('sends nothing of those whose callers have gone when it is back', async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: 400 })
    await outage(world)
    const { pool, key } = world
    const abort = new AbortController()
    const gone = [
      ...Array.from({ length: 500 }, (_, i) => pool.set(key, `late ${i}`)),
      ...Array.from({ length: 100 }, () => pool.withCommandOptions({ timeout: 200 }).set(key, 'impatient')),
      ...Array.from({ length: 100 }, () => pool.withAbortSignal(abort.signal).set(key, 'aborted')),
      ...Array.from({ length: 100 }, () => pool.multi().set(key, 'in a multi').exec()),
      ...Array.from({ length: 100 }, () => pool.pipeline().set(key, 'in a pipeline').exec()),
    ].map((call) => ending(call as Promise<unknown>))
    setTimeout(() => abort.abort(), 100)
    const ends = await Promise.all(gone)
    for (const { error } of ends) {
      const { outcome, name } = error as { outcome?: string; name: string }
      assert.ok(outcome === 'not-sent' || /abort/i.test(String(error)), `${name}: ${String(error)}`)
    }
    const late = ending(pool.set(key, 'in time'))
    await world.master.server.listen()
    assert.equal((await late).reply, 'OK')
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(world.master.data.get(key), 'in time')
    assert.equal(world.master.count('SET'), 1)
    assert.equal(world.master.count('MULTI'), 0)
  })
})

describe('a signal or a time-out that is no good', () => {
  it('aborted already: nothing is sent, wherever the call would go', async (t) => {
    const world = await fakeWorld(t)
    const aborted = world.pool.withAbortSignal(AbortSignal.abort())
    const { key } = world
    const calls = [
      aborted.set(key, 'v'),
      aborted.get(key),
      aborted.sendCommand(['SET', key, 'v']),
      aborted.withCommandOptions({ timeout: 60_000 }).set(key, 'v'),
      aborted.withReplicaAck({ replicas: 1, timeoutMs: 100 }).set(key, 'v'),
      aborted.multi().set(key, 'v').exec(),
      aborted.pipeline().set(key, 'v').exec(),
      aborted.blPop(key, 0),
    ]
    for (const { error } of await Promise.all(calls.map((call) => ending(call as Promise<unknown>)))) {
      assert.match(String(error), /abort/i)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(world.master.executed, [])
  })

  for (const timeout of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 31, '5' as unknown as number]) {
    it(`timeout ${String(timeout)} is refused when the view is made`, async (t) => {
      const world = await fakeWorld(t)
      assert.throws(() => world.pool.withCommandOptions({ timeout }), { code: 'INVALID_OPTIONS', option: 'timeout' })
    })
  }

  for (const timeoutMs of [Number.NaN, -1, 0, Number.POSITIVE_INFINITY]) {
    it(`close({ timeoutMs: ${timeoutMs} }) ends all the same`, async (t) => {
      const world = await fakeWorld(t, { commandTimeoutMs: 500 })
      world.master.silent = true
      const call = ending(world.pool.set(world.key, 'v'))
      const startedAt = performance.now()
      await world.pool.close({ timeoutMs })
      assert.ok(performance.now() - startedAt < 1_000)
      assert.ok((await call).error !== undefined)
    })
  }
})
