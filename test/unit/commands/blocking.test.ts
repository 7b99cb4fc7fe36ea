import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AbortError, ErrorReply } from 'redis'
import { waitMs } from '../../../src/commands/blocking.js'
import { LeaseReleasedError, type PoolClosedError } from '../../../src/errors.js'
import { stubPool } from './stub-client.js'

describe('blocking commands', () => {
  test('take a lease by themselves and give it back, whatever the end', async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => ['q1', 'job']
    assert.deepEqual(await client.blPop(['q1', 'r1'], 0), { key: 'q1', element: 'job' })
    shards[1]!.answer = () => {
      throw new ErrorReply('WRONGTYPE x')
    }
    await assert.rejects(client.blPop('q1', 0), ErrorReply)
    assert.deepEqual(
      shards[1]!.leases.map((lease) => lease.state),
      ['released', 'released'],
    )
    assert.equal(shards[1]!.sent.length, 0, 'nothing over the shared connection')
  })

  test("their wait is no time-out: the deadline is the wait and the pool's deadline, or none", async () => {
    const { client, shards } = stubPool({ commandTimeoutMs: 300 })
    shards[1]!.answer = () => null
    await client.blPop('q1', 2)
    await client.blPop('q1', 0)
    await client.withCommandOptions({ timeout: 0 }).bzPopMin('q1', 0.5)
    assert.deepEqual(
      shards[1]!.leases.map((lease) => lease.sent[0]!.options?.timeoutMs),
      [2_300, 0, 0],
    )
  })

  test("the caller's own time-out holds for a wait without end too, and counts the wait for a lease", async () => {
    const { client, shards } = stubPool({ commandTimeoutMs: 300 })
    const shard = shards[1]!
    shard.answer = () => null
    shard.acquireMs = 100
    const impatient = client.withCommandOptions({ timeout: 500 })
    await impatient.blPop('q1', 0)
    await impatient.bzPopMin('q1', 2)
    assert.deepEqual(
      shard.acquired.map((options) => options?.timeoutMs),
      [500, 500],
    )
    for (const lease of shard.leases) {
      const { timeoutMs } = lease.sent[0]!.options!
      assert.ok(timeoutMs! > 200 && timeoutMs! <= 410, String(timeoutMs))
    }
  })

  test('a signal ends the wait for a lease as node-redis ends a call', async () => {
    const { client, shards } = stubPool()
    shards[1]!.acquireMs = 5_000
    const abort = new AbortController()
    const call = client.withAbortSignal(abort.signal).blPop('q1', 0)
    abort.abort()
    await assert.rejects(call, AbortError)
    assert.equal(shards[1]!.leases.length, 0)
  })

  test('XREAD takes a lease only with BLOCK, and BLOCK after STREAMS is a key', async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) shard.answer = () => null
    await client.xRead({ key: 's1', id: '0' })
    await client.xRead({ key: 's1', id: '0' }, { BLOCK: 10 })
    await client.xReadGroup('BLOCK', 'c', { key: 's1', id: '>' })
    await client.sendCommand(['XREAD', 'STREAMS', 'BLOCK', '0'])
    assert.equal(shards[1]!.leases.length, 1)
    assert.equal(shards[1]!.sent.length, 2)
    assert.equal(shards[0]!.sent.length, 1)
  })

  test('a failover ends them with one typed error; the pop is not sent again', async () => {
    const { client, shards } = stubPool()
    const shard = shards[1]!
    shard.answer = () => {
      throw new ErrorReply(
        'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
      )
    }
    await assert.rejects(client.blPop('q1', 0), (error: LeaseReleasedError) => {
      assert.deepEqual([error.code, error.why, error.shard], ['LEASE_RELEASED', 'failover', 'shard-1'])
      assert.ok(error.cause instanceof ErrorReply)
      return true
    })
    shard.answer = () => {
      throw new LeaseReleasedError('shard-1', 'failover', { outcome: 'unknown' })
    }
    await assert.rejects(client.blMove('q1', 'r1', 'LEFT', 'RIGHT', 0), LeaseReleasedError)
    assert.deepEqual(
      shard.leases.map((lease) => lease.sent.length),
      [1, 1],
    )
  })

  test("the pool's own end ends them with PoolClosedError, in node-redis's sentence", async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => {
      throw new LeaseReleasedError('shard-1', 'closed', { outcome: 'unknown' })
    }
    await assert.rejects(client.blPop('q1', 0), (error: PoolClosedError) => {
      assert.deepEqual([error.code, error.message, error.outcome], ['POOL_CLOSED', 'The client is closed', 'unknown'])
      return true
    })
  })

  test("CLIENT UNBLOCK … ERROR is the server's own word", async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => {
      throw new ErrorReply('UNBLOCKED client unblocked via CLIENT UNBLOCK')
    }
    await assert.rejects(client.blPop('q1', 0), ErrorReply)
  })

  test('WAIT asks every shard on a lease that has something to wait for, and takes the least', async () => {
    const { client, shards } = stubPool()
    shards.forEach((shard, i) => {
      shard.answer = (words) => (words[0] === 'WAIT' ? i + 1 : 0)
    })
    assert.equal(await client.wait(1, 100), 1)
    assert.deepEqual(
      shards[2]!.leases[0]!.sent.map(({ words }) => words[0]),
      ['PUBLISH', 'WAIT'],
    )
  })

  test('waits are read where each command has them', () => {
    const cases: [string, number][] = [
      ['BLPOP a b 2', 2_000],
      ['BRPOPLPUSH a b 0.5', 500],
      ['BLMOVE a b LEFT RIGHT 3', 3_000],
      ['BLMPOP 1.5 1 a LEFT', 1_500],
      ['BZMPOP 4 1 a MIN', 4_000],
      ['BLMOVEM a b LEFT RIGHT 6 COUNT 1 OBO', 6_000],
      ['XREAD COUNT 1 BLOCK 70 STREAMS a 0', 70],
      ['XREADGROUP GROUP BLOCK c BLOCK 80 STREAMS a >', 80],
      ['XREAD STREAMS a 0', 0],
      ['WAIT 1 90', 90],
      ['BLPOP a nonsense', 0],
    ]
    for (const [text, expected] of cases) assert.equal(waitMs(text.split(' ')), expected, text)
  })
})
