// N050: commands that were repeated after a refusal ran out of order, so that an older value won.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'

const REFUSALS = [
  'NOREPLICAS Not enough good replicas to write.',
  'LOADING Redis is loading the dataset in memory',
  'BUSY Redis is busy running a script.',
]
const turn = () => new Promise((resolve) => setImmediate(resolve))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('N050: the order of writes', () => {
  for (const refusal of REFUSALS) {
    it(`those refused for a while (${refusal.split(' ')[0]}) run as they were called, and so do those made meanwhile`, async (t) => {
      const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
      master.refusal = refusal
      const calls: Promise<unknown>[] = []
      for (let i = 0; i < 60; i++) {
        const client = i % 2 === 0 ? pool : pool.withCommandOptions({ timeout: 4_000 })
        calls.push(client.set(key, String(i)))
        if (i % 3 === 2) await pause(2)
        if (i !== 40) continue
        // One that is on its way when the server changes its mind may be accepted before one that was refused.
        while (pool.stats().shards[0]!.waiting < calls.length) await turn()
        master.refusal = undefined
      }
      await Promise.all(calls)
      const values = master.executed.map(([, , value]) => Number(value))
      assert.deepEqual(
        values,
        Array.from({ length: 60 }, (_, i) => i),
      )
      assert.equal(await pool.get(key), '59')
    })
  }

  it('the old master says READONLY: what it refused goes to the new one before what was called later', async (t) => {
    const { pool, key, master, replica, promote } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    promote()
    master.role = 'slave'
    master.refusal = "READONLY You can't write against a read only replica."
    const calls: Promise<unknown>[] = []
    for (let i = 0; i < 60; i++) {
      calls.push(pool.set(key, String(i)))
      if (i % 3 === 2) await turn()
    }
    await Promise.all(calls)
    const values = replica.executed.map(([, , value]) => Number(value))
    assert.deepEqual(
      values,
      Array.from({ length: 60 }, (_, i) => i),
    )
  })

  it('those that were in flight find room to wait however many they are', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { pool: { maxWaiting: 1 } })
    master.refusal = REFUSALS[0]
    const calls = Array.from({ length: 50 }, (_, i) => pool.set(key, String(i)))
    while (pool.stats().shards[0]!.waiting < calls.length) await turn()
    master.refusal = undefined
    await Promise.all(calls)
    assert.equal(master.data.get(key), '49')
  })

  it('one that alone is refused holds no other up, and has its turn when it is accepted', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    const other = Array.from({ length: 100 }, (_, i) => `k${i}`).find((k) => pool.locate(k) === 'cache-a' && k !== key)!
    master.refusesKey = key
    const refused = pool.set(key, 'at last')
    const since = performance.now()
    for (let i = 0; i < 300; i++) await pool.set(other, String(i))
    const tookMs = performance.now() - since
    assert.ok(tookMs < 1_000, `300 writes one after another took ${tookMs} ms`)
    assert.equal(master.data.has(key), false)
    master.refusesKey = undefined
    await refused
    assert.equal(master.data.get(key), 'at last')
  })

  it('a pause ends by itself: pipelines, and what would end the trouble, wait no longer than that', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 3_000 })
    master.refusal = REFUSALS[0]
    const refused = Array.from({ length: 3 }, (_, i) => pool.set(key, String(i)))
    await pause(400)
    const since = performance.now()
    const kill = pool.shards[0]!.sendCommand(['SCRIPT', 'KILL']).catch(() => {})
    while (!master.server.commands.some(([verb]) => verb === 'SCRIPT')) await turn()
    const reachedMs = performance.now() - since
    assert.ok(reachedMs < 400, `it reached the server after ${reachedMs} ms`)
    master.refusal = undefined
    await Promise.all([kill, ...refused])
    const after = performance.now()
    for (let i = 0; i < 20; i++)
      assert.deepEqual(await pool.pipeline().set(key, String(i)).get(key).exec(), ['OK', String(i)])
    assert.ok(performance.now() - after < 500, `${performance.now() - after} ms`)
  })

  it('a pipeline that was refused as a whole goes through without a pause for each of its commands', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 5_000 })
    master.refusal = REFUSALS[0]
    const pipeline = pool.pipeline()
    for (let i = 0; i < 300; i++) pipeline.set(key, String(i))
    const since = performance.now()
    const done = pipeline.exec()
    while (pool.stats().shards[0]!.waiting === 0) await turn()
    master.refusal = undefined
    assert.equal((await done).length, 300)
    assert.ok(performance.now() - since < 800, `${performance.now() - since} ms`)
    assert.equal(master.data.get(key), '299')
  })

  it('refused until its deadline, a write ends in time as the server told it, and nothing is left waiting', async (t) => {
    const { pool, key, master } = await fakeWorld(t, { commandTimeoutMs: 400 })
    master.refusal = REFUSALS[0]
    const since = performance.now()
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, i) => pool.set(key, String(i)).catch((error: Error) => error.message)),
    )
    const tookMs = performance.now() - since
    assert.deepEqual(new Set(ends), new Set([REFUSALS[0]]))
    assert.ok(tookMs > 300 && tookMs < 900, `${tookMs} ms`)
    assert.equal(pool.stats().shards[0]!.waiting, 0)
    master.refusal = undefined
    assert.equal(await pool.set(key, 'again'), 'OK')
  })
})
