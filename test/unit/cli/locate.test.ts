import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deciding } from '../../../src/cli/tag.js'
import { createRing } from '../../../src/index.js'
import { runCli } from '../../support/run-cli.js'

describe('locate', () => {
  it('tells the shard that the ring tells, without any server, for any preset', async () => {
    for (const preset of ['murmur3', 'jedis', 'ketama', 'slots'] as const) {
      const ring = createRing({ shards: ['a', 'b', 'c'], ring: { preset } })
      const { code, out } = await runCli([
        'locate',
        '--masters',
        'a,b,c',
        '--preset',
        preset,
        '--json',
        'x',
        'user:1',
        'ü',
      ])
      assert.equal(code, 0)
      const places = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { key: string; shard: string })
      assert.deepEqual(
        places,
        ['x', 'user:1', 'ü'].map((key) => ({ key, shard: ring.shards[ring.locate(key)]!.name })),
      )
    }
  })

  it('reads keys from standard input, one per line, and answers in the same order', async () => {
    const { out } = await runCli(['locate', '--masters', 'a', '--offline'], { stdin: 'one\r\ntwo\n\nthree' })
    assert.equal(out, 'one\ta\ntwo\ta\nthree\ta\n')
  })

  it('asks for keys when there are none and a person sits there', async () => {
    const { code, err } = await runCli(['locate', '--masters', 'a'])
    assert.equal(code, 2)
    assert.match(err, /give at least one key, or pipe keys in/)
  })

  it('names the tag that decided', async () => {
    const { out } = await runCli(['locate', '--masters', 'a', '{user:1}:cart', 'plain', '{}x'])
    assert.equal(out, '{user:1}:cart  a  by {user:1}\nplain          a\n{}x            a\n')
  })
})

describe('the deciding tag', () => {
  const rows = [
    ['{a}b', undefined, 'a'],
    ['x{a}{b}', { preset: 'go-redis', version: 9 }, 'a'],
    ['{}b', { preset: 'slots' }, undefined],
    ['{}b', { preset: 'phpredis' }, ''],
    ['{a}b', { preset: 'jedis' }, undefined],
    ['{a}b', { preset: 'jedis', tag: '\\{(.+?)\\}' }, 'a'],
    ['x{a}b', { preset: 'redis-rb', version: 5 }, undefined],
    ['{a}b', { preset: 'redis-rb', version: 5 }, 'a'],
    ['{a}b', { preset: 'ketama' }, undefined],
    ['$a$b', { preset: 'ketama', hashTag: '$$' }, 'a'],
    ['{a}b', { hash: () => 1, hashTags: true }, 'a'],
    ['{a}b', { hash: () => 1 }, undefined],
    ['{a}b', () => 0, undefined],
  ] as const
  for (const [key, ring, tag] of rows) {
    it(`of ${key} under ${JSON.stringify(ring) ?? 'the default or a function'} is ${tag === undefined ? 'the whole key' : `'${tag}'`}`, () => {
      assert.equal(deciding(key, ring), tag)
    })
  }

  it('keys of one tag live together wherever a tag is told', () => {
    for (const ring of [{ preset: 'murmur3' }, { preset: 'phpredis' }, { preset: 'ketama', hashTag: '{}' }] as const) {
      const made = createRing({ shards: ['a', 'b', 'c', 'd'], ring })
      for (let i = 0; i < 50; i++) {
        assert.equal(deciding(`{t${i}}x`, ring), `t${i}`)
        assert.equal(made.locate(`{t${i}}x`), made.locate(`{t${i}}y`))
      }
    }
  })
})
