// B029, B030: an outage made thousands of log lines and knocks in lockstep, or ended in silence for good.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ending, fakeWorld } from '../support/fake-world.js'
import { until } from '../support/waiting.js'

const CALL_MS = 300
const OUTAGE_MS = 2_500

it('master and sentinels are gone for seconds under load: bounded calls, few words, few knocks, and back by itself', async (t) => {
  const world = await fakeWorld(t, { commandTimeoutMs: CALL_MS })
  const { pool, master, sentinels, key, otherKey } = world
  await until('three subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
  const told: [string, number][] = []
  const startedAt = performance.now()
  const note = (what: string) => () => void told.push([what, performance.now() - startedAt])
  pool.on('error', note('error'))
  pool.on('shard-down', note('shard-down'))
  pool.on('reconnect', note('reconnect'))
  pool.on('sentinel-state', ({ state }) => note(state)())
  await Promise.all([master, ...sentinels].map((server) => server.close()))

  const knocks = pool.stats().shards[0]!.rebuilds
  const calls: Promise<{ error: unknown; tookMs: number }>[] = []
  const others: Promise<{ error: unknown }>[] = []
  while (performance.now() - startedAt < OUTAGE_MS) {
    calls.push(ending(pool.get(key)))
    others.push(ending(pool.get(otherKey)))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (const { error, tookMs } of await Promise.all(calls)) {
    assert.equal((error as { code?: string }).code, 'SHARD_UNAVAILABLE')
    assert.ok(tookMs < CALL_MS + 300, `${tookMs} ms`)
  }
  for (const { error } of await Promise.all(others)) assert.equal(error, undefined)
  const words = told.map(([what]) => what)
  assert.equal(words.filter((what) => what === 'shard-down').length, 1)
  assert.equal(words.filter((what) => what === 'degraded').length, 1)
  assert.equal(words.filter((what) => what === 'error').length, 3, 'one for each sentinel')
  assert.ok(told.every(([, atMs]) => atMs < 2_000))
  assert.ok(pool.stats().shards[0]!.rebuilds - knocks <= 2, 'one search, however many calls wait')

  await Promise.all([master.server.listen(), ...sentinels.map((sentinel) => sentinel.server.listen())])
  const backAt = performance.now()
  await until('the shard', () => pool.stats().shards[0]!.state === 'ready', 3_000)
  assert.ok(performance.now() - backAt < 1_500, 'the cap of the pauses and a second')
  assert.equal(await pool.set(key, 'v'), 'OK')
  await until('the sentinels', () => pool.stats().sentinels.every((one) => one.subscribed), 5_000)
  await until('the word', () => told.some(([what]) => what === 'watching'))
  assert.equal(told.filter(([what]) => what === 'reconnect').length, 1)
})
