import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ArgumentParser } from '../../../src/commands/argument-parser.js'

const words = ['A', 'B', 'C', 'D', 'E', 'F']

describe('argument parser', () => {
  it('gives the words as they were pushed, however many there are', () => {
    for (let count = 0; count <= words.length; count++) {
      const parser = new ArgumentParser(undefined)
      for (const word of words.slice(0, count)) parser.push(word)
      assert.deepEqual(parser.redisArgs, words.slice(0, count))
    }
  })

  it('goes on with the same array after a look at it', () => {
    for (let before = 0; before <= words.length; before++) {
      const parser = new ArgumentParser(undefined)
      parser.push(...words.slice(0, before))
      const seen = parser.redisArgs
      parser.push(...words.slice(before))
      assert.equal(parser.redisArgs, seen)
      assert.deepEqual(seen, words)
    }
  })

  it('takes what a definition writes into the array itself', () => {
    const parser = new ArgumentParser(undefined)
    parser.push('A')
    parser.redisArgs.push('B')
    parser.push('C')
    assert.deepEqual(parser.redisArgs, ['A', 'B', 'C'])
  })

  it('keeps the keys apart from the words, with the prefix on both', () => {
    const parser = new ArgumentParser('app:')
    parser.push('MGET')
    parser.pushKeys(['a', 'b', 'a'])
    assert.deepEqual(parser.redisArgs, ['MGET', 'app:a', 'app:b', 'app:a'])
    assert.deepEqual(parser.keys, ['app:a', 'app:b', 'app:a'])
    assert.equal(parser.firstKey, 'app:a')
    assert.equal(parser.keyCount, 3)
  })
})
