import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { joinCursor, splitCursor } from '../../../src/commands/scan-cursor.js'
import { type StubShard, stubPool } from './stub-client.js'

/** A shard with pages of keys; the cursor is the page's number, as text. */
function paged(shard: StubShard, pages: string[][]): void {
  shard.answer = (words) => {
    const at = Number(words[1])
    return [at + 1 < pages.length ? String(at + 1) : '0', pages[at] ?? []]
  }
}

describe('scan', () => {
  test('plain scan walks shard after shard behind one decimal cursor', async () => {
    const { client, shards } = stubPool()
    paged(shards[0]!, [['a'], ['b']])
    paged(shards[1]!, [[]])
    paged(shards[2]!, [['c'], ['d'], ['e']])
    const keys: string[] = []
    let cursor = '0'
    do {
      const page = await client.scan(cursor, { COUNT: 5 })
      keys.push(...page.keys)
      cursor = page.cursor
    } while (cursor !== '0')
    assert.deepEqual(keys, ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(shards[2]!.texts, ['SCAN 0 COUNT 5', 'SCAN 1 COUNT 5', 'SCAN 2 COUNT 5'])
  })

  test('cursors of 64 bits come back as they were, for any number of shards', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
        fc.integer({ min: 1, max: 64 }),
        fc.nat(63),
        (cursor, shards, at) => {
          const shard = at % shards
          const joined = joinCursor(shard, cursor.toString(), shards)
          assert.notEqual(joined, '0')
          assert.deepEqual(splitCursor(joined, shards), { shard, cursor: cursor.toString() })
        },
      ),
    )
    assert.deepEqual(splitCursor('nonsense', 3), { shard: 0, cursor: 'nonsense' })
  })

  test('scanIterator yields every page of every shard; breaking off leaves nothing behind', async () => {
    const { client, shards } = stubPool()
    paged(shards[0]!, [['a'], ['b']])
    paged(shards[1]!, [['c']])
    paged(shards[2]!, [['d']])
    const pages: string[][] = []
    for await (const keys of client.scanIterator({ MATCH: '*' })) pages.push(keys)
    assert.deepEqual(pages, [['a'], ['b'], ['c'], ['d']])
    for await (const keys of client.scanIterator()) if (keys[0] === 'b') break
    assert.equal(shards[1]!.sent.length, 1)
    assert.equal(
      shards.reduce((sum, shard) => sum + shard.settled, 0),
      shards.reduce((sum, shard) => sum + shard.sent.length, 0),
    )
  })

  test('a shard whose master changes under the walk is begun anew; the others are not', async () => {
    let changed!: (index: number) => void
    const { client, shards } = stubPool({
      onMasterChanged: (listener) => {
        changed = listener
      },
    })
    paged(shards[0]!, [['a'], ['b'], ['c']])
    paged(shards[1]!, [['d'], ['e']])
    paged(shards[2]!, [['f']])
    const keys: string[] = []
    for await (const page of client.scanIterator()) {
      keys.push(...page)
      if (page[0] === 'b' && keys.length === 2) changed(0)
      if (page[0] === 'f') changed(2)
    }
    assert.deepEqual(keys, ['a', 'b', 'a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('iterators of one key stay on its shard', async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = (words) => (words[2] === '0' ? ['7', ['f', 'v']] : ['0', ['g', 'w']])
    const entries: unknown[] = []
    for await (const page of client.hScanIterator('h1', { COUNT: 1 })) entries.push(...page)
    assert.deepEqual(entries, [
      { field: 'f', value: 'v' },
      { field: 'g', value: 'w' },
    ])
    const values: unknown[] = []
    for await (const page of client.hScanValuesIterator('h1')) values.push(...page)
    assert.deepEqual(values, ['v', 'w'])
    const members: unknown[] = []
    for await (const page of client.sScanIterator('s1')) members.push(...page)
    assert.deepEqual(members, ['f', 'v', 'g', 'w'])
    assert.deepEqual(shards[1]!.texts.slice(0, 2), ['HSCAN h1 0 COUNT 1', 'HSCAN h1 7 COUNT 1'])
  })
})
