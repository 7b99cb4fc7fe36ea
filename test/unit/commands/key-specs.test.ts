import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lookUpCommand } from '../../../src/commands/command-table.js'
import { keyPlaces, readKeySpec } from '../../../src/commands/key-specs.js'
import { keysBySpecs } from '../../../src/commands/raw-command.js'
import { factsFromInfo } from '../../../src/commands/server-facts.js'

const keysOf = (text: string) => {
  const words = text.split(' ').map((word) => (word === "''" ? '' : word))
  return keysBySpecs(lookUpCommand(words[0]!, words[1])!, words)?.join(' ')
}

describe('key specifications', () => {
  test('find the keys of real commands', () => {
    const cases: [string, string | undefined][] = [
      ['GET a', 'a'],
      ['set a v EX 10', 'a'],
      ['MGET a b c', 'a b c'],
      ['MSET a 1 b 2', 'a b'],
      ['BLPOP a b 0', 'a b'],
      ['EVAL script 2 a b x', 'a b'],
      ['EVALSHA sha 0 x', ''],
      ['FCALL f 1 a x', 'a'],
      ['ZUNIONSTORE d 2 a b WEIGHTS 1 2', 'd a b'],
      ['ZDIFF 2 a b WITHSCORES', 'a b'],
      ['LMPOP 2 a b LEFT', 'a b'],
      ['BLMPOP 0 2 a b LEFT', 'a b'],
      ['XREAD COUNT 2 BLOCK 0 STREAMS a b 0 0', 'a b'],
      ['XREADGROUP GROUP g c streams a b > >', 'a b'],
      ['OBJECT ENCODING a', 'a'],
      ['MEMORY USAGE a SAMPLES 5', 'a'],
      ['MIGRATE h 1 a 0 5', 'a'],
      ["MIGRATE h 1 '' 0 5 COPY KEYS a b", 'a b'],
      ['SORT a', 'a'],
      ['SORT a STORE b', undefined],
      ['SPUBLISH c m', 'c'],
      ['RENAME a b', 'a b'],
      ['LMOVE a b LEFT RIGHT', 'a b'],
      ['GEORADIUS a 1 1 1 m', 'a'],
      ['GEORADIUS a 1 1 1 m STORE b', 'a b'],
      ['PING', ''],
      ['CONFIG GET x', ''],
      ['XGROUP CREATE a g 0', 'a'],
      ['COPY a b DB 1', 'a b'],
      ['PFMERGE a b c', 'a b c'],
      ['BITOP AND d a b', 'd a b'],
      ['SINTERCARD 2 a b LIMIT 1', 'a b'],
      ['HEXPIRE a 1 FIELDS 1 f', undefined],
    ]
    for (const [text, expected] of cases) assert.equal(keysOf(text), expected, text)
  })

  test('words that do not fit a specification give no keys, and never an endless search', () => {
    assert.equal(keysOf('EVAL script x a'), '')
    assert.equal(keysOf('EVAL script -1 a'), '')
    assert.equal(keysOf('EVAL script 1000000000 a'), 'a')
    assert.equal(keysOf('XREAD COUNT 1'), '')
    assert.equal(keysOf('GET'), '')
    assert.deepEqual(keyPlaces(readKeySpec('KEYS@-2:-1:1')!, ['X', 'KEYS', 'a']), [2])
    assert.equal(readKeySpec('?'), undefined)
    assert.equal(readKeySpec(''), undefined)
  })

  test("a server's COMMAND INFO is read in RESP 2, RESP 3 and as servers before 7.0 gave it", () => {
    const resp2 = [
      'my.cmd',
      -3,
      ['write'],
      1,
      1,
      1,
      ['@slow'],
      ['request_policy:multi_shard', 'response_policy:agg_sum'],
      [
        [
          'flags',
          [],
          'begin_search',
          ['type', 'index', 'spec', ['index', 2]],
          'find_keys',
          ['type', 'keynum', 'spec', ['keynumidx', 0, 'firstkey', 1, 'keystep', 1]],
        ],
      ],
      [],
    ]
    const resp3 = [
      'my.cmd',
      -3,
      new Set(['write']),
      1,
      1,
      1,
      new Set(['@slow']),
      ['request_policy:multi_shard', 'response_policy:agg_sum'],
      [
        {
          begin_search: new Map<string, unknown>([
            ['type', 'index'],
            ['spec', { index: 2 }],
          ]),
          find_keys: { type: 'keynum', spec: { keynumidx: 0, firstkey: 1, keystep: 1 } },
        },
      ],
      [],
    ]
    for (const entry of [resp2, resp3]) {
      const facts = factsFromInfo(entry)
      assert.deepEqual(
        { ...facts, flags: [...facts.flags] },
        {
          name: 'MY.CMD',
          request: 'multi_shard',
          response: 'agg_sum',
          flags: ['write', '@slow'],
          keySpecs: ['2#0:1:1'].map(readKeySpec),
        },
      )
    }
    assert.deepEqual(factsFromInfo(['old', 2, ['readonly'], 1, -1, 2]).keySpecs, [readKeySpec('1:-1:2')])
    assert.deepEqual(factsFromInfo(['old', 2, ['readonly'], 2, 3, 1]).keySpecs, [readKeySpec('2:1:1')])
    assert.deepEqual(factsFromInfo(['old', 2, ['movablekeys'], 0, 0, 0]).keySpecs, [undefined])
    assert.equal(factsFromInfo(['old', 2, ['readonly'], 0, 0, 0]).request, 'default-keyless')
    const range = [
      {
        begin_search: { type: 'keyword', spec: { keyword: 'STREAMS', startfrom: 1 } },
        find_keys: { type: 'range', spec: { lastkey: -1, keystep: 1, limit: 2 } },
      },
      { begin_search: { type: 'unknown' }, find_keys: { type: 'unknown' } },
    ]
    assert.deepEqual(factsFromInfo(['x', 1, [], 0, 0, 0, [], [], range]).keySpecs, [
      readKeySpec('STREAMS@1:-1:1:2'),
      undefined,
    ])
  })
})
