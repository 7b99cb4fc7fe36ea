import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineScript, ErrorReply, RESP_TYPES } from 'redis'
import { CrossShardError, InvalidKeyError, PoolClosedError, UnsupportedCommandError } from '../../../src/errors.js'
import { stubPool } from './stub-client.js'

const code =
  (expected: string, fields: object = {}) =>
  (error: Error) => {
    assert.equal((error as { code?: string }).code, expected)
    for (const [name, value] of Object.entries(fields)) assert.deepEqual((error as never)[name], value, name)
    return true
  }

describe('routing', () => {
  test("a command goes to the shard of its key, in node-redis's words, with its profile", async () => {
    const { client, shards } = stubPool()
    await client.set('k1', 'v', { EX: 10 })
    await client.get('k2')
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [[], ['SET k1 v EX 10'], ['GET k2']],
    )
    assert.deepEqual(shards[1]!.sent[0]!.profile, { name: 'SET', readOnly: false, ofMaster: false })
    assert.deepEqual(shards[2]!.sent[0]!.profile, { name: 'GET', readOnly: true, ofMaster: false })
    assert.equal(shards[2]!.sent[0]!.options, undefined)
  })

  test('both spellings, every option form, keys as bytes', async () => {
    const { client, shards } = stubPool()
    await client.GET(Buffer.from('k1'))
    await client.hSet('h2', { a: 1, b: 'x' })
    await client.HSET('h2', 'c', 'd')
    assert.deepEqual(shards[1]!.sent[0]!.words, ['GET', Buffer.from('k1')])
    assert.deepEqual(shards[2]!.texts, ['HSET h2 a 1 b x', 'HSET h2 c d'])
  })

  test('the reply is transformed as node-redis does, with the type mapping of the call', async () => {
    const { client, shards } = stubPool({}, { RESP: 2 })
    shards[1]!.answer = () => ['v', '1.5']
    assert.deepEqual(await client.zPopMin('z1'), { value: 'v', score: 1.5 })
    await client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get('k1')
    assert.deepEqual(shards[1]!.sent.at(-1)!.options?.typeMapping, { [RESP_TYPES.BLOB_STRING]: Buffer })
  })

  test('keys of one command on one shard go there; on two shards they are refused before anything is sent', async () => {
    const { client, shards } = stubPool()
    await client.sInter(['a1', 'b1'])
    await client.eval('return 1', { keys: ['a{x2}', 'b{x2}'], arguments: ['k1'] })
    assert.deepEqual(shards[1]!.texts, ['SINTER a1 b1'])
    assert.deepEqual(shards[2]!.texts, ['EVAL return 1 2 a{x2} b{x2} k1'])
    const refused = code('CROSS_SHARD', { command: 'RENAME', keys: ['a1', 'b2'], shards: ['shard-1', 'shard-2'] })
    await assert.rejects(client.rename('a1', 'b2'), refused)
    await assert.rejects(client.zUnionStore('a1', ['b1', 'c2']), CrossShardError)
    await assert.rejects(
      client.xRead([
        { key: 'a1', id: '0' },
        { key: 'b2', id: '0' },
      ]),
      CrossShardError,
    )
    await assert.rejects(client.eval('return 1', { keys: ['a1', 'b2'] }), CrossShardError)
    await assert.rejects(client.sortStore('a1', 'b2'), CrossShardError)
    assert.equal(
      shards.reduce((sum, shard) => sum + shard.sent.length, 0),
      2,
    )
  })

  test('a command that names no key where one is needed is refused, never sent to some shard', async () => {
    const { client, shards } = stubPool()
    await assert.rejects(client.eval('return 1'), code('UNSUPPORTED_COMMAND', { command: 'EVAL' }))
    assert.equal(shards.flatMap((shard) => shard.sent).length, 0)
  })

  test('commands of one connection or one server are refused with a hint', async () => {
    const { client } = stubPool()
    for (const call of [
      () => client.clientId(),
      () => client.auth({ password: 'x' }),
      () => client.swapDb(0, 1),
      () => client.bgSave(),
      () => (client as never as { select(n: number): Promise<void> }).select(1),
      () => (client as never as { watch(k: string): Promise<void> }).watch('k'),
    ]) {
      await assert.rejects(
        call(),
        (error: UnsupportedCommandError) => error.code === 'UNSUPPORTED_COMMAND' && error.hint.length > 20,
      )
    }
  })

  test("bad arguments reject as node-redis's methods do; a key that is no key is named", async () => {
    const { client } = stubPool()
    const anyClient = client as never as Record<string, (...args: unknown[]) => Promise<unknown>>
    await assert.rejects(anyClient.mSet!(), TypeError)
    await client.mSet({ a: '1' })
    await assert.rejects(anyClient.mSet!(), TypeError)
    await assert.rejects(anyClient.get!(1), (error: InvalidKeyError) => error.received === 'number')
    await assert.rejects(anyClient.get!(), InvalidKeyError)
  })

  test('keyPrefix is put before keys only, and decides the shard with them', async () => {
    const { client, shards } = stubPool({ ring: { locate: (key) => String(key).length % 3 } }, { keyPrefix: 'app:' })
    await client.set('k', 'v')
    await client.get(Buffer.from('kk'))
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['GET app:kk'], [], ['SET app:k v']],
    )
  })

  test("what a failed send means is the shard's decision; the call counts as settled either way", async () => {
    const { client, shards } = stubPool()
    const failure = new Error('lost')
    shards[1]!.answer = () => {
      throw failure
    }
    shards[1]!.onRecover = () => 'recovered'
    assert.equal(await client.get('k1'), 'recovered')
    shards[1]!.onRecover = (error) => {
      throw error
    }
    await assert.rejects(client.get('k1'), failure)
    assert.equal(shards[1]!.settled, 2)
    assert.deepEqual(shards[1]!.recovered, [
      { error: failure, words: ['GET', 'k1'] },
      { error: failure, words: ['GET', 'k1'] },
    ])
  })

  test('calls made while the pool connects wait for it and keep their order; after its end they reject', async () => {
    let open!: () => void
    let gate: Promise<undefined> | undefined = new Promise((resolve) => {
      open = () => resolve(undefined)
    })
    const { client, shards } = stubPool({ waitUntilOpen: () => gate })
    const calls = [client.set('k1', 'a'), client.publish('c1', 'b'), client.set('k1', 'c')]
    assert.deepEqual(shards[1]!.texts, [])
    gate = undefined
    open()
    await Promise.all(calls)
    assert.deepEqual(shards[1]!.texts, ['SET k1 a', 'PUBLISH c1 b', 'SET k1 c'])
    gate = Promise.reject(new PoolClosedError())
    await assert.rejects(client.get('k1'), PoolClosedError)
  })

  test('open, a call is sent in the tick it is made in, whatever the caller does to its arguments afterwards', async () => {
    const { client, shards } = stubPool()
    const members = ['a', 'b']
    const call = client.sAdd('s1', members)
    members.push('c')
    assert.deepEqual(shards[1]!.texts, ['SADD s1 a b'])
    await call
  })

  test('settings of a view are checked when it is made: names and values, with the nearest one for a typo', async () => {
    const { client } = stubPool()
    const refused: readonly [object, string, RegExp][] = [
      [{ timeOutMs: 5 }, 'timeOutMs', /no command option 'timeOutMs'; did you mean 'timeoutMs'/],
      [{ timeout: 'abc' }, 'timeout', /whole number of milliseconds from 0 to/],
      [{ timeoutMs: -1 }, 'timeoutMs', /whole number/],
      [{ timeoutMs: 2 ** 31 }, 'timeoutMs', /whole number/],
      [{ retry: 'saef' }, 'retry', /did you mean 'safe'/],
      [{ readFrom: 'prefer-replica' }, 'readFrom', /did you mean 'preferReplica'/],
      [{ replicaAck: { replicas: 0, timeoutMs: 10 } }, 'replicaAck.replicas', /at least 1/],
      [{ abortSignal: {} }, 'abortSignal', /AbortSignal/],
      [{ typeMapping: 'x' }, 'typeMapping', /an object/],
    ]
    for (const [options, option, message] of refused) {
      const invalid = { code: 'INVALID_OPTIONS', option, message }
      assert.throws(() => client.withCommandOptions(options as never), invalid)
      await assert.rejects(client.sendCommand(['GET', 'k1'], options as never), invalid)
    }
    assert.throws(() => client.withReadFrom('prefer-replica' as never), { code: 'INVALID_OPTIONS', option: 'readFrom' })
    assert.throws(() => client.withTypeMapping(7 as never), { code: 'INVALID_OPTIONS', option: 'typeMapping' })
  })

  test("node-redis's own command options are taken, and those that mean nothing here reach no shard", async () => {
    const { client, shards } = stubPool()
    const { signal } = new AbortController()
    const options = {
      asap: true,
      chainId: Symbol('c'),
      slotNumber: 1,
      typeMapping: {},
      abortSignal: signal,
      timeout: 5,
    }
    await client.withCommandOptions(options as never).get('k1')
    await client.sendCommand(['GET', 'k1'], options as never)
    for (const sent of shards[1]!.sent) {
      assert.deepEqual(sent.options, { typeMapping: {}, abortSignal: signal, timeoutMs: 5 })
    }
    assert.equal(shards[1]!.sent.length, 2)
  })

  test("views carry their settings and share everything else; a namespace of a view is the view's", async () => {
    const { client, shards } = stubPool()
    const signal = new AbortController().signal
    const view = client
      .withAbortSignal(signal)
      .withCommandOptions({ timeout: 100, retry: 'never' })
      .withReadFrom('replica')
    await view.get('k1')
    await view.json.get('k1').catch(() => {})
    for (const { options } of shards[1]!.sent) {
      assert.deepEqual(options, {
        typeMapping: undefined,
        abortSignal: signal,
        timeoutMs: 100,
        retry: 'never',
        readFrom: 'replica',
      })
    }
    assert.equal(shards[1]!.sent.length, 2)
    assert.equal(view.json, view.json)
    assert.notEqual(view.json, client.json)
    await client.get('k1')
    assert.equal(shards[1]!.sent.at(-1)!.options, undefined)
  })

  test('modules go by their keys', async () => {
    const { client, shards } = stubPool()
    shards[1]!.answer = () => '{"a":1}'
    assert.deepEqual(await client.json.get('j1'), { a: 1 })
    await client.bf.add('b2', 'x')
    await client.ts.add('t2', '*', 1)
    assert.deepEqual(shards[1]!.texts, ['JSON.GET j1'])
    assert.deepEqual(shards[2]!.texts, ['BF.ADD b2 x', 'TS.ADD t2 * 1'])
    await assert.rejects(client.json.mGet(['a1', 'b2'], '$'), CrossShardError)
    await assert.rejects(client.ft.search('index', '*'), UnsupportedCommandError)
  })

  test('a script of the client options is healed of NOSCRIPT exactly once, on the shard concerned', async () => {
    const addUp = defineScript({
      SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
      NUMBER_OF_KEYS: 1,
      parseCommand(parser, key: string, by: number) {
        parser.pushKey(key)
        parser.push(by.toString())
      },
      transformReply: (reply: unknown) => Number(reply),
    })
    const { client, shards } = stubPool({}, { scripts: { addUp } })
    const scripted = client as typeof client & { addUp(key: string, by: number): Promise<number> }
    shards[1]!.answer = (words) => {
      if (words[0] === 'EVALSHA') throw new ErrorReply('NOSCRIPT No matching script. Please use EVAL.')
      return '7'
    }
    assert.equal(await scripted.addUp('k1', 7), 7)
    assert.deepEqual(shards[1]!.texts, [`EVALSHA ${addUp.SHA1} 1 k1 7`, `EVAL ${addUp.SCRIPT} 1 k1 7`])
    shards[1]!.answer = () => {
      throw new ErrorReply('NOSCRIPT always')
    }
    await assert.rejects(scripted.addUp('k1', 7), /NOSCRIPT always/)
    assert.equal(shards[1]!.sent.length, 4)
  })

  test("evalSha of a script that this pool has loaded heals too; of an unknown one the server's word stands", async () => {
    const { client, shards } = stubPool()
    for (const shard of shards) shard.answer = () => 'abc123'
    assert.equal(await client.scriptLoad('return 1'), 'abc123')
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [['SCRIPT LOAD return 1'], ['SCRIPT LOAD return 1'], ['SCRIPT LOAD return 1']],
    )
    shards[1]!.answer = (words) => {
      if (words[0] === 'EVALSHA') throw new ErrorReply('NOSCRIPT x')
      return 1
    }
    assert.equal(await client.evalSha('ABC123', { keys: ['k1'] }), 1)
    assert.equal(shards[1]!.texts.at(-1), 'EVAL return 1 1 k1')
    await assert.rejects(client.evalSha('fff', { keys: ['k1'] }), /NOSCRIPT/)
  })

  test('members by which libraries tell a cluster or ioredis are absent, commands are present', () => {
    const { client } = stubPool()
    for (const name of [
      'slots',
      'masters',
      'getSentinelNode',
      'defineCommand',
      'isCluster',
      'status',
      'nodes',
      'getMasters',
    ]) {
      assert.equal(name in client, false, name)
    }
    for (const name of [
      'GET',
      'get',
      'json',
      'multi',
      'MULTI',
      'sendCommand',
      'subscribe',
      'SUBSCRIBE',
      'scanIterator',
    ]) {
      assert.equal(name in client, true, name)
    }
    assert.equal(typeof (client as never as { setMaxListeners(n: number): unknown }).setMaxListeners(0), 'object')
  })

  test('withCommandOptions without options changes nothing, as with node-redis', async () => {
    const { client, shards } = stubPool()
    await client.withCommandOptions(undefined).get('k1')
    await client.withCommandOptions().get('k1')
    assert.deepEqual(shards[1]!.texts, ['GET k1', 'GET k1'])
  })
})
