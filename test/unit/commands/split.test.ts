import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AbortError, ErrorReply, RESP_TYPES } from 'redis'
import { type MultiShardError, ShardUnavailableError } from '../../../src/errors.js'
import { stubPool } from './stub-client.js'

/** Each shard answers MGET with its keys in upper case. */
function echoing(pool: ReturnType<typeof stubPool>): void {
  for (const shard of pool.shards) shard.answer = (words) => words.slice(1).map((key) => String(key).toUpperCase())
}

describe('split commands', () => {
  test("one command per shard concerned, answers in the caller's order, duplicates kept", async () => {
    const pool = stubPool()
    echoing(pool)
    assert.deepEqual(await pool.client.mGet(['a1', 'b2', 'c1', 'a1', 'd2']), ['A1', 'B2', 'C1', 'A1', 'D2'])
    assert.deepEqual(
      pool.shards.map((shard) => shard.texts),
      [[], ['MGET a1 c1 a1'], ['MGET b2 d2']],
    )
  })

  test('any keys in any order: result i belongs to key i', async () => {
    const pool = stubPool()
    echoing(pool)
    const key = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.integer({ min: 0, max: 9 }).map((n) => `k${n}`),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(key, { minLength: 1, maxLength: 60 }), async (keys) => {
        assert.deepEqual(
          await pool.client.mGet(keys),
          keys.map((one) => one.toUpperCase()),
        )
      }),
      { numRuns: 200 },
    )
  })

  test('counts add up; with a type mapping for numbers they come as it says', async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) shard.answer = (words) => words.length - 1
    assert.equal(await client.del(['a1', 'b2', 'c3', 'd1']), 4)
    assert.equal(await client.unlink('a1'), 1)
    assert.equal(await client.exists(['a1', 'a1', 'b2']), 3)
    assert.equal(await client.touch(['a1', 'b2']), 2)
    assert.equal(await client.withTypeMapping({ [RESP_TYPES.NUMBER]: String }).del(['a1', 'b2']), '2')
    assert.deepEqual(shards[1]!.sent.at(-1)!.options?.typeMapping, {}, 'numbers are added up as numbers')
  })

  test('MSET keeps keys and values together', async () => {
    const { client, shards } = stubPool()
    assert.equal(await client.mSet({ a1: 'x', b2: 'y', c1: 'z' }), 'OK')
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [[], ['MSET a1 x c1 z'], ['MSET b2 y']],
    )
    await client.mSet(['a1', '1', 'b2', '2'])
    await client.mSet([
      ['a1', '3'],
      ['b2', '4'],
    ])
    assert.deepEqual(shards[2]!.texts.slice(1), ['MSET b2 2', 'MSET b2 4'])
  })

  test("no keys at all: the words go out as they are, and the server's complaint is the answer", async () => {
    const { client, shards } = stubPool()
    shards[0]!.answer = () => {
      throw new ErrorReply("ERR wrong number of arguments for 'mget' command")
    }
    await assert.rejects(client.mGet([]), ErrorReply)
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['MGET'], [], []],
    )
  })

  test('more keys than one command should carry are cut', async () => {
    const pool = stubPool()
    echoing(pool)
    const keys = Array.from({ length: 20_001 }, () => 'k1')
    assert.equal((await pool.client.mGet(keys)).length, 20_001)
    assert.deepEqual(
      pool.shards[1]!.sent.map(({ words }) => words.length - 1),
      [10_000, 10_000, 1],
    )
  })

  test('a part that fails: the call ends when all parts have, and tells for each shard what became of it', async () => {
    const { client, shards } = stubPool()
    let release!: (reply: unknown) => void
    shards[0]!.answer = () =>
      new Promise((resolve) => {
        release = resolve
      })
    shards[1]!.answer = () => {
      throw new ShardUnavailableError('shard-1', 'no-master', 0)
    }
    shards[2]!.answer = () => ['C']
    let ended = false
    const call = client.mGet(['a0', 'b1', 'c2']).finally(() => {
      ended = true
    })
    await new Promise(setImmediate)
    assert.equal(ended, false)
    release(['A'])
    await assert.rejects(call, (error: MultiShardError) => {
      assert.equal(error.code, 'MULTI_SHARD')
      assert.equal(error.retryable, true)
      assert.deepEqual(
        error.outcomes.map(({ shard, keys, result, error: e }) => [
          shard,
          keys,
          result,
          (e as { code?: string })?.code,
        ]),
        [
          ['shard-0', ['a0'], ['A'], undefined],
          ['shard-1', ['b1'], undefined, 'SHARD_UNAVAILABLE'],
          ['shard-2', ['c2'], ['C'], undefined],
        ],
      )
      assert.equal(error.outcome, 'unknown', 'two parts have run')
      return true
    })
  })

  test('a failure says not-sent when no part has run, and may be repeated when all that failed may', async () => {
    const { client, shards } = stubPool()
    const away = (i: number) => () => {
      throw new ShardUnavailableError(`shard-${i}`, 'no-master', 0)
    }
    const refused = () => {
      throw new ErrorReply('LOADING Redis is loading the dataset in memory')
    }
    const failure = () =>
      client.del(['a0', 'b1']).then(
        () => assert.fail('it failed'),
        (error: MultiShardError) => error,
      )
    shards[0]!.answer = away(0)
    shards[1]!.answer = away(1)
    const neither = await failure()
    assert.deepEqual([neither.outcome, neither.retryable], ['not-sent', true])
    shards[1]!.answer = () => 1
    const one = await failure()
    assert.deepEqual([one.outcome, one.retryable], ['unknown', true])
    shards[0]!.answer = refused
    assert.equal((await failure()).retryable, true)
    shards[0]!.answer = () => {
      throw new ErrorReply('NOPERM no')
    }
    assert.equal((await failure()).retryable, false)
  })

  test('with one shard concerned its own error comes through', async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => {
      throw new ErrorReply('LOADING x')
    }
    await assert.rejects(client.mGet(['a1', 'b1']), /^Error: LOADING x$/)
  })

  test('pool.settled gives what could be had, per key where the answer is per key', async () => {
    const pool = stubPool()
    echoing(pool)
    const failure = new ShardUnavailableError('shard-1', 'no-master', 0)
    pool.shards[1]!.answer = () => {
      throw failure
    }
    const { client } = pool
    const settled = await client.settled.mGet(['a0', 'b1', 'c2', 'd1'])
    assert.deepEqual(settled.reply, ['A0', failure, 'C2', failure])
    assert.equal(settled.failed, 1)
    assert.deepEqual(
      settled.outcomes.map(({ shard }) => shard),
      ['shard-0', 'shard-1', 'shard-2'],
    )
    pool.shards[0]!.answer = pool.shards[2]!.answer = () => 1
    assert.equal((await client.settled.del(['a0', 'b1', 'c2'])).reply, 2)
    const none = await client.settled.get('k1')
    assert.deepEqual([none.reply, none.failed], [undefined, 1])
  })

  test('a bad argument is found before any part is sent, in the words of node-redis', async () => {
    const { client, shards } = stubPool()
    const bad = 5 as unknown as string
    const complaint = { name: 'TypeError', message: /^"arguments\[\d\]" must be of type "string \| Buffer", got/ }
    await assert.rejects(client.mSet(['a1', 'x', 'b2', bad]), complaint)
    await assert.rejects(client.mSet([['a1', 'x'], ['b2']] as unknown as [string, string][]), complaint)
    await assert.rejects(client.mSet(['a1', 'x', 'b2', new Uint8Array(1)] as string[]), complaint)
    await assert.rejects(client.settled.mSet(['a1', 'x', 'b2', bad]), complaint)
    await assert.rejects(client.sendCommand(['MSET', 'a1', 'x', 'b2', bad]), complaint)
    await assert.rejects(client.keys(undefined as unknown as string), complaint)
    await assert.rejects(client.ping(bad), complaint)
    await assert.rejects(client.pipeline().set('a1', 'x').append('b2', bad).exec(), complaint)
    const split = stubPool({ crossShardMulti: 'split' })
    await assert.rejects(split.client.multi().set('a1', 'x').append('b2', bad).exec(), complaint)
    await assert.rejects(client.mGet([bad, 'a1']), { name: 'InvalidKeyError' })
    await assert.rejects(client.pipeline().set('a1', 'x').get(bad).exec(), { name: 'InvalidKeyError' })
    for (const shard of [...shards, ...split.shards]) assert.deepEqual([shard.sent, shard.batches], [[], []])
  })

  test('a key without its value is complained of by one server, and no shard takes its part', async () => {
    const { client, shards } = stubPool()
    const complaint = new ErrorReply("ERR wrong number of arguments for 'mset' command")
    shards[0]!.answer = () => {
      throw complaint
    }
    const words = ['a1', 'x', 'b2', 'y', 'c1']
    await assert.rejects(client.sendCommand(['MSET', ...words]), complaint)
    // node-redis makes the missing value a word, and then cannot write it.
    await assert.rejects(client.mSet(words), TypeError)
    await assert.rejects(client.settled.mSet(words), TypeError)
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['MSET a1 x b2 y c1'], [], []],
    )
  })

  test('an aborted call rejects with AbortError, whatever number of shards it concerned', async () => {
    const pool = stubPool({ crossShardMulti: 'split' })
    const aborted = () => {
      throw new AbortError()
    }
    for (const shard of pool.shards) Object.assign(shard, { answer: aborted, answerBatch: aborted })
    const { client } = pool
    await assert.rejects(client.mGet(['a1', 'b2']), AbortError)
    await assert.rejects(client.keys('*'), AbortError)
    await assert.rejects(client.pipeline().get('a1').get('b2').exec(), AbortError)
    await assert.rejects(client.multi().get('a1').get('b2').exec(), AbortError)
    pool.shards[1]!.answer = () => 'OK'
    await assert.rejects(client.mSet({ a1: 'x', b2: 'y' }), AbortError)
  })
})
