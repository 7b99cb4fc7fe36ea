// N006, N007, N008, N009: a transaction or a script on a master that had been demoted, or whose connection broke, gave half of its replies.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionLostError } from '../../src/index.js'
import { ErrorReply } from '../../src/redis-client.js'
import { classifyFailure } from '../../src/shard/failure.js'
import { until } from '../support/waiting.js'
import { scriptedWorld } from './scripted-redis.js'

describe('a transaction', () => {
  it('N006: its connection breaks after some of its replies: it rejects as unknown, and later calls get their own replies', async (t) => {
    const { master, pool } = await scriptedWorld(t)
    for (const replies of [1, 2, 3]) {
      master.breaksAfter = replies
      const transaction = pool.multi().set('k', 'v').get('k').exec()
      const behind = pool.get('behind')
      await assert.rejects(transaction, (error: ConnectionLostError) => {
        assert.ok(error instanceof ConnectionLostError)
        return error.outcome === 'unknown'
      })
      master.breaksAfter = undefined
      assert.equal(await behind, 'value of behind')
      assert.deepEqual(await pool.multi().get('a').get('b').exec(), ['value of a', 'value of b'])
    }
    assert.equal(master.executed.filter((command) => command === 'SET k v').length, 0)
  })

  for (const [id, old] of [
    ['N007', false],
    ['N008', true],
  ] as const) {
    const how = old ? 'where EXEC goes on with the reads alone' : 'where EXEC is refused as a whole'
    it(`${id}: of reads and writes on a demoted master, ${how}: the whole runs once, on the new master`, async (t) => {
      const { master, replica, pool, promote } = await scriptedWorld(t)
      master.old = old
      promote()
      const replies = await pool.multi().get('a').set('k', 'v').incr('n').get('b').exec()
      assert.deepEqual(replies, ['value of a', 'OK', 3, 'value of b'])
      assert.deepEqual(replica.executed, ['GET a', 'SET k v', 'INCR n', 'GET b'])
      assert.ok(master.executed.every((command) => command.startsWith('GET')))
      assert.equal(pool.stats().shards[0]!.failovers, 1)
    })
  }

  it('N008: whose writes are all in a script is sent again too, since nothing of it was written', async (t) => {
    const { master, replica, pool, promote } = await scriptedWorld(t)
    promote()
    for (const old of [true, false]) {
      master.old = old
      assert.deepEqual(
        await pool
          .multi()
          .get('a')
          .eval('script', { keys: ['a'] })
          .exec(),
        ['value of a', 'OK'],
      )
    }
    assert.equal(replica.executed.filter((command) => command.startsWith('EVAL')).length, 2)
  })
})

describe('N009: a script that may not write', () => {
  const message = 'its error has the refusal in the middle, and still leads to the master'
  it(`called by itself: ${message}`, async (t) => {
    const { master, replica, pool, promote } = await scriptedWorld(t)
    master.old = true
    promote()
    assert.equal(await pool.eval('script', { keys: ['k'] }), 'OK')
    assert.deepEqual([master.executed, replica.executed], [[], ['EVAL script 1 k']])
  })

  it(`in a pipeline: ${message}`, async (t) => {
    const { master, replica, pool, promote } = await scriptedWorld(t)
    master.old = true
    promote()
    assert.deepEqual(
      await pool
        .pipeline()
        .eval('script', { keys: ['k'] })
        .set('k', 'v')
        .exec(),
      ['OK', 'OK'],
    )
    assert.deepEqual([master.executed, replica.executed], [[], ['EVAL script 1 k', 'SET k v']])
  })

  it('on a lease: its caller gets the error, and the shard looks for the master', async (t) => {
    const { master, pool, promote } = await scriptedWorld(t)
    master.old = true
    await using lease = await pool.acquire('k')
    promote()
    await assert.rejects(lease.client.eval('script', { keys: ['k'] }), ErrorReply)
    await until('the new master', () => pool.stats().shards[0]!.failovers === 1)
    assert.equal(await pool.use('k', (client) => client.eval('script', { keys: ['k'] })), 'OK')
  })

  it('for a reason of its own, whose text only mentions the word: that is the caller’s', () => {
    const own = 'ERR Error running script (call to f_1): @user_script:1: user: -READONLY is what I call it'
    assert.equal(classifyFailure(new ErrorReply(own)), 'answered')
  })
})
