import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineScript, ErrorReply, MultiErrorReply } from 'redis'
import {
  ConnectionLostError,
  CrossShardError,
  type MultiShardError,
  UnsupportedCommandError,
} from '../../../src/errors.js'
import { type StubPool, stubPool } from './stub-client.js'

/** EXEC answers with these; everything before it is queued. */
function executing(pool: StubPool, shard: number, ...replies: unknown[]): void {
  pool.shards[shard]!.answerBatch = (commands) => commands.map((words) => (words[0] === 'EXEC' ? replies : 'QUEUED'))
}

const batches = (pool: StubPool) =>
  pool.shards.map((shard) => shard.batches.map((batch) => batch.map((words) => words.join(' '))))

describe('transactions', () => {
  test('go to the one shard of all their keys in one write; replies are transformed in order', async () => {
    const pool = stubPool({}, { RESP: 2 })
    executing(pool, 1, 'OK', 2, ['a', '1'])
    const replies = await pool.client.multi().set('k1', '1').incr('l1').hGetAll('h1').exec()
    assert.deepEqual(JSON.parse(JSON.stringify(replies)), ['OK', 2, { a: '1' }])
    assert.deepEqual(batches(pool), [[], [['MULTI', 'SET k1 1', 'INCR l1', 'HGETALL h1', 'EXEC']], []])
  })

  test('keys of two shards are refused before anything is sent', async () => {
    const pool = stubPool()
    const call = pool.client.multi().set('a1', '1').mGet(['b1', 'c2']).exec()
    await assert.rejects(call, (error: CrossShardError) => {
      assert.deepEqual(
        [error.command, error.keys, error.shards],
        ['MULTI', ['a1', 'b1', 'c2'], ['shard-1', 'shard-1', 'shard-2']],
      )
      return true
    })
    assert.deepEqual(batches(pool), [[], [], []])
  })

  test("a publish must be on the channel's shard; commands for all shards or one connection are refused", async () => {
    const { client } = stubPool()
    await assert.rejects(client.multi().set('a1', '1').publish('c2', 'm').exec(), CrossShardError)
    await assert.rejects(client.multi().set('a1', '1').dbSize().exec(), UnsupportedCommandError)
    await assert.rejects(client.multi().set('a1', '1').clientId().exec(), UnsupportedCommandError)
    await assert.rejects(client.multi().time().exec(), UnsupportedCommandError)
  })

  test('an empty one is an empty list without I/O', async () => {
    const pool = stubPool()
    assert.deepEqual(await pool.client.multi().exec(), [])
    assert.deepEqual(await pool.client.multi().execAsPipeline(), [])
    assert.deepEqual(batches(pool), [[], [], []])
  })

  test('failed commands in it make a MultiErrorReply with all replies', async () => {
    const pool = stubPool()
    executing(pool, 1, 'OK', new ErrorReply('WRONGTYPE x'))
    await assert.rejects(pool.client.multi().set('k1', '1').incr('k1').exec(), (error: MultiErrorReply) => {
      assert.ok(error instanceof MultiErrorReply)
      assert.deepEqual(error.errorIndexes, [1])
      return true
    })
  })

  test('refused unexecuted, all of it is sent again once the shard has recovered', async () => {
    for (const refusal of [
      [
        'OK',
        new ErrorReply('READONLY x'),
        new ErrorReply('EXECABORT Transaction discarded because of previous errors.'),
      ],
      ['OK', 'QUEUED', new ErrorReply('EXECABORT Transaction discarded because of: READONLY x')],
    ]) {
      const pool = stubPool()
      const shard = pool.shards[1]!
      let times = 0
      shard.answerBatch = () => (times++ === 0 ? refusal : ['OK', 'QUEUED', [1]])
      shard.onRecover = () => 'PONG'
      assert.deepEqual(await pool.client.multi().incr('k1').exec(), [1])
      assert.equal(shard.batches.length, 2)
      assert.equal((shard.recovered[0]!.error as Error).message, 'READONLY x')
      assert.deepEqual(shard.recovered[0]!.words, ['PING'])
    }
  })

  test('refused for its own words, the first complaint is the error', async () => {
    const pool = stubPool()
    pool.shards[1]!.answerBatch = () => [
      'OK',
      new ErrorReply("ERR wrong number of arguments for 'get' command"),
      new ErrorReply('EXECABORT x'),
    ]
    await assert.rejects(pool.client.multi().sendCommand(['GET', 'k1', 'x']).exec(), /wrong number of arguments/)
    assert.equal(pool.shards[1]!.batches.length, 1)
  })

  test('lost, it is never sent again', async () => {
    const pool = stubPool()
    pool.shards[1]!.answerBatch = () => {
      throw new ConnectionLostError('shard-1', 'MULTI', 'unknown')
    }
    await assert.rejects(
      pool.client.multi().incr('k1').exec(),
      (error: ConnectionLostError) => error.outcome === 'unknown',
    )
    assert.equal(pool.shards[1]!.batches.length, 1)
  })

  test('with crossShardMulti split: one per shard, answers in the order of the calls', async () => {
    const pool = stubPool({ crossShardMulti: 'split' })
    executing(pool, 1, 'a', 'c')
    executing(pool, 2, 'b')
    assert.deepEqual(await pool.client.multi().get('a1').get('b2').get('c1').exec(), ['a', 'b', 'c'])
    assert.deepEqual(batches(pool), [[], [['MULTI', 'GET a1', 'GET c1', 'EXEC']], [['MULTI', 'GET b2', 'EXEC']]])
    pool.shards[2]!.answerBatch = () => {
      throw new ConnectionLostError('shard-2', 'MULTI', 'unknown')
    }
    await assert.rejects(pool.client.multi().get('a1').get('b2').get('c1').exec(), (error: MultiShardError) => {
      assert.deepEqual(
        error.outcomes.map(({ shard, keys, result }) => [shard, keys, result]),
        [
          ['shard-1', ['a1', 'c1'], ['a', 'c']],
          ['shard-2', ['b2'], undefined],
        ],
      )
      return true
    })
  })

  test('the first use of a script goes with its text, later ones by its hash', async () => {
    const twice = defineScript({
      SCRIPT: 'return 2',
      NUMBER_OF_KEYS: 1,
      parseCommand(parser, key: string) {
        parser.pushKey(key)
      },
      transformReply: (reply: unknown) => Number(reply) * 2,
    })
    const pool = stubPool({}, { scripts: { twice } })
    executing(pool, 1, 1, 1, 1)
    const chain = pool.client.multi().incr('k1') as never as {
      twice(key: string): { twice(key: string): { exec(): Promise<unknown[]> } }
    }
    assert.deepEqual(await chain.twice('k1').twice('l1').exec(), [1, 2, 2])
    assert.deepEqual(batches(pool)[1], [
      ['MULTI', 'INCR k1', 'EVAL return 2 1 k1', `EVALSHA ${twice.SHA1} 1 l1`, 'EXEC'],
    ])
  })

  test('bad arguments throw at the call, namespaces chain, raw words go by their keys', async () => {
    const pool = stubPool()
    executing(pool, 1, 'OK', '"x"', 'raw')
    const chain = pool.client.multi()
    assert.throws(() => (chain as never as { mSet(): void }).mSet(), TypeError)
    const replies = await chain.set('k1', 'v').json.get('j1').addCommand(['GET', 'k1']).exec()
    assert.deepEqual(replies, ['OK', 'x', 'raw'])
  })
})

describe('pipelines', () => {
  test('one write per shard, answers in the order of the calls, splitting what splits', async () => {
    const pool = stubPool()
    for (const shard of pool.shards) {
      shard.answerBatch = (commands) =>
        commands.map((words) => (words[0] === 'MGET' ? words.slice(1) : words[0] === 'DBSIZE' ? 1 : words.join(' ')))
    }
    const replies = await pool.client.multi().get('a1').mGet(['b2', 'c1']).get('d2').dbSize().execAsPipeline()
    assert.deepEqual(replies, ['GET a1', ['b2', 'c1'], 'GET d2', 3])
    assert.deepEqual(batches(pool), [
      [['DBSIZE']],
      [['GET a1', 'MGET c1', 'DBSIZE']],
      [['MGET b2', 'GET d2', 'DBSIZE']],
    ])
    assert.deepEqual(await pool.client.pipeline().get('a1').exec(), ['GET a1'])
    assert.deepEqual(await pool.client.multi().get('a1').exec(true), ['GET a1'])
  })

  test('the first failed command rejects, with all replies and the failed places', async () => {
    const pool = stubPool()
    pool.shards[1]!.answerBatch = () => ['OK', new ErrorReply('WRONGTYPE x')]
    await assert.rejects(
      pool.client.pipeline().set('k1', 'v').get('a2').incr('l1').exec(),
      (error: ErrorReply & { replies: unknown[]; errorIndexes: number[] }) => {
        assert.equal(error.message, 'WRONGTYPE x')
        assert.deepEqual(error.errorIndexes, [2])
        assert.deepEqual(error.replies.slice(0, 2), ['OK', 'OK'])
        return true
      },
    )
  })

  test('a command refused unexecuted is repeated alone; the others are not', async () => {
    const pool = stubPool()
    const shard = pool.shards[1]!
    shard.answerBatch = () => [1, new ErrorReply('READONLY x')]
    shard.onRecover = () => 2
    assert.deepEqual(await pool.client.pipeline().incr('k1').incr('l1').exec(), [1, 2])
    assert.deepEqual(
      shard.recovered.map(({ words }) => words),
      [['INCR', 'l1']],
    )
  })

  test('a lost shard: its own error when it was the only one, else a MultiShardError after all have ended', async () => {
    const pool = stubPool()
    pool.shards[1]!.answerBatch = () => {
      throw new ConnectionLostError('shard-1', 'PIPELINE', 'unknown')
    }
    await assert.rejects(pool.client.pipeline().get('a1').exec(), ConnectionLostError)
    await assert.rejects(pool.client.pipeline().get('a1').get('b2').exec(), (error: MultiShardError) => {
      assert.deepEqual(
        error.outcomes.map(({ shard, result }) => [shard, result]),
        [
          ['shard-1', undefined],
          ['shard-2', ['OK']],
        ],
      )
      return true
    })
  })

  test('a command that may wait on the server is refused; in a transaction, which never waits, it is not', async () => {
    const pool = stubPool()
    executing(pool, 1, null)
    await assert.rejects(pool.client.pipeline().blPop('q1', 0).exec(), UnsupportedCommandError)
    await assert.rejects(pool.client.pipeline().wait(1, 0).exec(), UnsupportedCommandError)
    assert.deepEqual(await pool.client.multi().blPop('q1', 0).exec(), [null])
  })
})
