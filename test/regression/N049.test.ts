// N049: a call whose answer the server never lets out cut the connection each time it was repeated, and everybody's commands with it.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ConnectionLostError } from '../../src/index.js'
import { ending } from '../support/fake-world.js'
import { scriptedWorld } from './scripted-redis.js'

it('N049: a read that loses its connection every time is given up long before its deadline, and later calls are answered', async (t) => {
  const { master, pool } = await scriptedWorld(t, { commandTimeoutMs: 30_000 })
  master.cutsAt = 'too-large'
  const reads = Array.from({ length: 3 }, () => ending(pool.get('too-large')))
  for (const { error, tookMs } of await Promise.all(reads)) {
    assert.ok(error instanceof ConnectionLostError, String(error))
    assert.equal(error.outcome, 'unknown')
    assert.ok(tookMs < 15_000, `${tookMs} ms`)
  }
  assert.equal(await pool.get('k'), 'value of k')
  assert.equal(await pool.set('k', 'v'), 'OK')
  const { reconnects, failovers } = pool.stats().shards[0]!
  assert.ok(reconnects <= 15, `${reconnects} reconnects`)
  assert.equal(failovers, 0)
})
