import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeWorld } from '../support/fake-world.js'

describe('client.commandOptions', () => {
  it('what belongs to one call is not taken for all: commands keep their order, and the pool its questions', async (t) => {
    const commandOptions = { asap: true, abortSignal: AbortSignal.abort(), chainId: Symbol('chain'), timeout: 1 }
    const world = await fakeWorld(t, { client: { commandOptions } })
    const { pool, key } = world
    const calls = Array.from({ length: 20 }, (_, i) => pool.set(key, String(i)))
    assert.deepEqual(await Promise.all(calls), new Array(20).fill('OK'))
    assert.equal(world.master.data.get(key), '19')
    const lease = await pool.acquire(key)
    await Promise.all([lease.client.set(key, 'a'), lease.client.set(key, 'b')])
    await lease.release()
    assert.equal(world.master.data.get(key), 'b')
  })
})
