import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ErrorReply } from 'redis'
import { joinReplies, sameReply } from '../../../src/commands/joins.js'
import { MultiShardError } from '../../../src/errors.js'
import { stubPool } from './stub-client.js'

function answering(...replies: unknown[]) {
  const pool = stubPool()
  replies.forEach((reply, i) => {
    pool.shards[i]!.answer = () => {
      if (reply instanceof Error) throw reply
      return reply
    }
  })
  return pool
}

describe('commands for all shards', () => {
  test('join as their response policy says', async () => {
    assert.equal(await answering(1, 2, 3).client.dbSize(), 6)
    assert.deepEqual(await answering(['a'], [], ['b', 'c']).client.keys('*'), ['a', 'b', 'c'])
    assert.equal(await answering('OK', 'OK', 'OK').client.flushAll(), 'OK')
    assert.equal(await answering('PONG', 'PONG', 'PONG').client.ping(), 'PONG')
    assert.deepEqual(await answering([1, 0], [1, 1], [0, 1]).client.scriptExists(['a', 'b']), [0, 0])
    assert.equal(await answering(3, 1, 2).client.latencyReset(), 6)
    assert.equal(await answering(null, null, 'k').client.randomKey(), 'k')
    assert.equal(await answering(null, null, null).client.randomKey(), null)
    assert.equal(
      await answering(new ErrorReply('NOTBUSY x'), 'OK', new ErrorReply('NOTBUSY x')).client.scriptKill(),
      'OK',
    )
  })

  test('INFO is one text with a heading per shard', async () => {
    const text = await answering('# Server\r\na:1\r\n', '# Server\r\na:2\r\n', 'x').client.info()
    assert.equal(
      text,
      '# shard shard-0\r\n# Server\r\na:1\r\n\r\n# shard shard-1\r\n# Server\r\na:2\r\n\r\n# shard shard-2\r\nx',
    )
  })

  test('a name of the connection goes to all shards, lists of connections come as one', async () => {
    assert.equal(await answering('OK', 'OK', 'OK').client.clientSetName('x'), 'OK')
    const lists = await answering('id=1 addr=a\n', 'id=2 addr=b\n', '').client.clientList()
    assert.deepEqual(
      lists.map(({ id }) => id),
      [1, 2],
    )
  })

  test('settings that all shards agree on are the answer; where they differ, all answers are told', async () => {
    assert.deepEqual(await answering({ a: '1' }, { a: '1' }, { a: '1' }).client.configGet('a'), { a: '1' })
    await assert.rejects(
      answering({ a: '1' }, { a: '2' }, { a: '1' }).client.configGet('a'),
      (error: MultiShardError) => {
        assert.equal(error.code, 'MULTI_SHARD')
        assert.deepEqual(
          error.outcomes.map((o) => (o.error as { reply?: unknown }).reply),
          [{ a: '1' }, { a: '2' }, { a: '1' }],
        )
        return true
      },
    )
  })

  test('counts of pub/sub are added up, lists of channels joined', async () => {
    assert.deepEqual(
      { ...(await answering(['c', 1, 'd', 0], ['c', 2, 'd', 0], ['c', 0, 'd', 4]).client.pubSubNumSub(['c', 'd'])) },
      { c: 3, d: 4 },
    )
    assert.deepEqual(await answering(['c'], ['c', 'd'], []).client.pubSubChannels(), ['c', 'd'])
    assert.equal(await answering(2, 2, 2).client.pubSubNumPat(), 2)
  })

  test('one complaint that all servers share comes through as it is; mixed ends are a MultiShardError', async () => {
    const same = () => new ErrorReply('ERR syntax error')
    await assert.rejects(answering(same(), same(), same()).client.flushAll(), /^Error: ERR syntax error$/)
    await assert.rejects(answering('OK', same(), 'OK').client.flushAll(), MultiShardError)
    await assert.rejects(answering(same(), new ErrorReply('ERR other'), same()).client.flushAll(), MultiShardError)
  })

  test('what every server would answer alike comes from whoever answers first, whatever trouble another is in', async () => {
    const pool = answering(new ErrorReply('LOADING'), ['1', '2'], new Promise(() => {}))
    assert.deepEqual(await pool.client.time(), ['1', '2'])
    const failure = new ErrorReply('LOADING')
    await assert.rejects(answering(failure, new Error('x'), new Error('y')).client.time(), failure)
  })

  test('joins of sets, maps, bytes and lists', () => {
    const names = ['a', 'b']
    assert.deepEqual(joinReplies('default-keyless', [new Set([1]), new Set([2])], names), new Set([1, 2]))
    assert.deepEqual(
      joinReplies('default-keyless', [new Map([[1, 1]]), new Map([[2, 2]])], names),
      new Map([
        [1, 1],
        [2, 2],
      ]),
    )
    assert.deepEqual(joinReplies('default-keyless', ['x', 'y'], names), ['x', 'y'])
    assert.deepEqual(joinReplies('union', [[Buffer.from('a')], [Buffer.from('a'), 'a']], names), [
      Buffer.from('a'),
      'a',
    ])
    assert.deepEqual(
      joinReplies(
        'agg_min',
        [
          [2, 5],
          [3, 4],
        ],
        names,
      ),
      [2, 4],
    )
    assert.deepEqual(joinReplies('agg_max', [2, 5], names), 5)
    assert.deepEqual(
      joinReplies(
        'agg_logical_or',
        [
          [0, 0],
          [1, 0],
        ],
        names,
      ),
      [1, 0],
    )
    assert.deepEqual(
      String(joinReplies('text', [Buffer.from('x'), Buffer.from('y')], names)),
      '# shard a\r\nx# shard b\r\ny',
    )
  })

  test('sameReply compares by content', () => {
    const yes: [unknown, unknown][] = [
      [1, 1],
      [null, null],
      [Buffer.from('a'), Buffer.from('a')],
      [
        ['a', { b: 1 }],
        ['a', { b: 1 }],
      ],
      [new Set(['a', 'b']), new Set(['b', 'a'])],
      [new Map([['a', [1]]]), new Map([['a', [1]]])],
    ]
    const no: [unknown, unknown][] = [
      [1, '1'],
      [null, {}],
      [[1], [1, 2]],
      [{ a: 1 }, { b: 1 }],
      [{ a: 1 }, { a: 1, b: 2 }],
      [new Map([['a', 1]]), new Map([['b', 1]])],
      [Buffer.from('a'), Buffer.from('b')],
    ]
    for (const [a, b] of yes) assert.equal(sameReply(a, b), true)
    for (const [a, b] of no) assert.equal(sameReply(a, b), false)
  })

  test('settings are the same whatever order a server lists them in (RESP 2)', () => {
    const [here, there] = [
      ['hz', '10', 'timeout', '0'],
      ['timeout', '0', 'hz', '10'],
    ]
    assert.deepEqual(joinReplies('same_pairs', [here, there], ['a', 'b']), here)
    assert.equal(joinReplies('same_pairs', [here, ['timeout', '10', 'hz', '0']], ['a', 'b']), undefined)
    assert.equal(joinReplies('same_pairs', [here, ['hz', '10']], ['a', 'b']), undefined)
    const bytes = ['timeout', Buffer.from('0'), 'hz', Buffer.from('10')].map((word) => Buffer.from(word))
    assert.ok(joinReplies('same_pairs', [bytes, [...bytes.slice(2), ...bytes.slice(0, 2)]], ['a', 'b']))
  })

  test('CONFIG GET over shards that list alike in different order is one answer', async () => {
    const pool = answering(['hz', '10', 'timeout', '0'], ['timeout', '0', 'hz', '10'], ['hz', '10', 'timeout', '0'])
    assert.deepEqual(await pool.client.sendCommand(['CONFIG', 'GET', 'hz', 'timeout']), ['hz', '10', 'timeout', '0'])
  })
})
