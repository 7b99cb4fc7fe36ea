import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ErrorReply } from 'redis'
import { CrossShardError, UnsupportedCommandError } from '../../../src/errors.js'
import { stubPool } from './stub-client.js'

describe('sendCommand', () => {
  test('goes by the key specification of the command; the reply comes as it is', async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => ['a', '1']
    assert.deepEqual(await client.sendCommand(['hgetall', 'h1']), ['a', '1'])
    await client.sendCommand(['XREAD', 'STREAMS', 's1', 't1', '0', '0'])
    await assert.rejects(client.sendCommand(['XREAD', 'STREAMS', 's1', 't2', '0', '0']), CrossShardError)
    await assert.rejects(client.sendCommand(['EVALSHA', 'x', '0']), UnsupportedCommandError)
    await assert.rejects(client.sendCommand(['CLIENT', 'INFO']), UnsupportedCommandError)
    await assert.rejects(client.sendCommand(['SUBSCRIBE', 'x']), UnsupportedCommandError)
    await assert.rejects(client.sendCommand([]), TypeError)
    assert.deepEqual(
      shards.map((shard) => shard.sent.length),
      [0, 2, 0],
    )
    assert.deepEqual(shards[1]!.sent[0]!.profile, { name: 'HGETALL', readOnly: true, ofMaster: false })
  })

  test('splits, asks all shards and remembers scripts like the typed methods', async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) shard.answer = (words) => (words[0] === 'SCRIPT' ? 'sha' : words.slice(1))
    assert.deepEqual(await client.sendCommand(['MGET', 'a2', 'b1', 'c2']), ['a2', 'b1', 'c2'])
    assert.equal(await client.sendCommand(['SCRIPT', 'LOAD', 'return 1']), 'sha')
    assert.ok(shards.every((shard) => shard.texts.includes('SCRIPT LOAD return 1')))
    shards[1]!.answer = (words) => {
      if (words[0] === 'EVALSHA') throw new ErrorReply('NOSCRIPT x')
      return words
    }
    assert.deepEqual(await client.sendCommand(['EVALSHA', 'sha', '1', 'k1']), ['EVAL', 'return 1', '1', 'k1'])
  })

  test("a key before the words decides the shard, alone or as node-redis's cluster has it", async () => {
    const { client, shards } = stubPool()
    await client.sendCommand('k2', ['EVAL', 'return 1', '0'])
    await client.sendCommand('k1', true, ['EVAL', 'return 1', '0'], { timeoutMs: 5 })
    await client.sendCommand(undefined, false, ['GET', 'k0'])
    await assert.rejects(client.sendCommand('k1', ['CLIENT', 'ID']), UnsupportedCommandError)
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['GET k0'], ['EVAL return 1 0'], ['EVAL return 1 0']],
    )
    assert.equal(shards[1]!.sent[0]!.options?.timeoutMs, 5)
    assert.equal(shards[1]!.sent[0]!.profile.readOnly, false, 'EVAL may write, whatever the flag says')
  })

  test('words the table does not know are asked of the servers once, and then go by what the first to answer said', async () => {
    const { client, shards } = stubPool()
    const spec = ['begin_search', ['type', 'index', 'spec', ['index', 2]], 'find_keys', RANGE]
    for (const shard of shards) {
      shard.answer = (words) => (words[1] === 'INFO' ? [['my.cmd', -3, ['write'], 0, 0, 0, [], [], [spec]]] : 'OK')
    }
    shards[0]!.answer = () => new Promise(() => {})
    await client.sendCommand(['MY.CMD', 'x', 'k1'])
    await client.sendCommand(['my.cmd', 'x', 'k2'])
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['COMMAND INFO MY.CMD'], ['COMMAND INFO MY.CMD', 'MY.CMD x k1'], ['COMMAND INFO MY.CMD', 'my.cmd x k2']],
    )
  })

  test("a command that no server knows gets one server's own word, and is asked about again", async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) {
      shard.answer = (words) => {
        if (words[0] === 'COMMAND') return [null]
        throw new ErrorReply("ERR unknown command 'NOPE'")
      }
    }
    await assert.rejects(client.sendCommand(['NOPE', 'x']), /unknown command/)
    await assert.rejects(client.sendCommand(['NOPE', 'x']), /unknown command/)
    assert.deepEqual(shards[0]!.texts, ['COMMAND INFO NOPE', 'NOPE x', 'COMMAND INFO NOPE', 'NOPE x'])
    assert.deepEqual(shards[1]!.texts, ['COMMAND INFO NOPE', 'COMMAND INFO NOPE'])
  })

  test('keys that only the server can find are asked for', async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) shard.answer = () => ['a1', 'b1']
    await client.sendCommand(['SORT', 'a1', 'STORE', 'b1'])
    assert.deepEqual(shards[0]!.texts, ['COMMAND GETKEYS SORT a1 STORE b1'])
    assert.equal(shards[1]!.texts.at(-1), 'SORT a1 STORE b1')
  })
})

const RANGE = ['type', 'range', 'spec', ['lastkey', 0, 'keystep', 1, 'limit', 0]]
