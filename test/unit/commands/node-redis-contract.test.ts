import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { createClient, defineScript, RESP_TYPES } from 'redis'
import { ArgumentParser } from '../../../src/commands/argument-parser.js'
import { captureCommand, type MethodSite, readSurface } from '../../../src/commands/definitions.js'
import { RESP_NUMBER } from '../../../src/commands/execute.js'
import { ConnectionFactory } from '../../../src/redis-client.js'

/**
 * Each internal of node-redis that src/commands relies on, by name. A release that changes one fails here with that name,
 * before a pool fails with it.
 */
const fromRedis = createRequire(createRequire(import.meta.url).resolve('redis'))

const template = new ConnectionFactory({
  scripts: {
    addUp: defineScript({
      SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
      NUMBER_OF_KEYS: 1,
      parseCommand(parser, key: string, by: number) {
        parser.pushKey(key)
        parser.push(by.toString())
      },
      transformReply: (reply: unknown) => Number(reply),
    }),
  },
  functions: {
    library: {
      twice: {
        NUMBER_OF_KEYS: 1,
        IS_READ_ONLY: true,
        parseCommand(parser: { pushKey(key: string): void }, key: string) {
          parser.pushKey(key)
        },
        transformReply: undefined as never,
      },
    },
  },
}).template()

const surface = readSurface(template)
const siteNamed = (name: string): MethodSite => surface.methods.find((site) => site.name === name)!

describe('node-redis contract', () => {
  test('a client is a proxy of an instance of a generated class, whose own enumerable names are the commands', () => {
    const instance = Object.getPrototypeOf(template)
    const generated = Object.getPrototypeOf(instance)
    const base = Object.getPrototypeOf(generated)
    assert.ok(Object.hasOwn(generated, 'get') && Object.hasOwn(generated, 'GET'))
    assert.ok(
      Object.hasOwn(base, 'multi') === false && typeof (template as unknown as { multi: unknown }).multi === 'function',
    )
    assert.ok(Object.hasOwn(base, 'sendCommand') && Object.hasOwn(base, '_executeCommand'))
  })

  test('module and function namespaces are non-enumerable getters that return a proxy of their commands', () => {
    const generated = Object.getPrototypeOf(Object.getPrototypeOf(template))
    for (const name of ['json', 'bf', 'cf', 'cms', 'topK', 'tDigest', 'ft', 'ts', 'library']) {
      const property = Object.getOwnPropertyDescriptor(generated, name)
      assert.equal(typeof property?.get, 'function', name)
      assert.equal(property?.enumerable, false, name)
    }
    assert.deepEqual([...surface.namespaces.keys()].sort(), [
      'bf',
      'cf',
      'cms',
      'ft',
      'json',
      'library',
      'tDigest',
      'topK',
      'ts',
    ])
  })

  test('every command definition of node-redis is a method of the template, in both spellings', () => {
    const definitions = fromRedis('@redis/client/dist/lib/commands/index.js').default as object
    const names = new Set(surface.methods.map((site) => site.name))
    assert.deepEqual(
      Object.keys(definitions).filter((name) => !names.has(name)),
      [],
    )
    assert.deepEqual(
      [...names].filter((name) => !(name in definitions)),
      ['addUp'],
    )
  })

  test('a method calls this._self._executeCommand(command, parser, options, transformReply) before its first await', () => {
    const { command } = captureCommand(siteNamed('hGetAll'), ['key'])
    assert.equal(typeof command?.definition.parseCommand, 'function')
    assert.equal(typeof command?.transform, 'undefined', 'RESP 3 needs no transform for HGETALL')
    assert.deepEqual(command?.prefix, [])
    assert.equal(command?.isScript, false)
  })

  test('the transform is that of the RESP version of the client', () => {
    const resp2 = readSurface(new ConnectionFactory({ RESP: 2 }).template())
    const { command } = captureCommand(resp2.methods.find((site) => site.name === 'hGetAll')!, ['key'])
    assert.deepEqual({ ...(command!.transform!(['a', '1'], undefined, undefined) as object) }, { a: '1' })
  })

  test('a script method calls this._executeScript, with EVALSHA, the hash and the number of keys before its own words', () => {
    const { command } = captureCommand(siteNamed('addUp'), ['key', 2])
    assert.equal(command?.isScript, true)
    const script = command!.definition as unknown as { SCRIPT: string; SHA1: string }
    assert.match(script.SCRIPT, /INCRBY/)
    assert.deepEqual(command!.prefix, ['EVALSHA', script.SHA1, '1'])
  })

  test('a function method writes FCALL or FCALL_RO, its name and the number of keys before its own words', () => {
    const site = surface.namespaces.get('library')![0]!
    const { command } = captureCommand(site, ['key'])
    assert.deepEqual(command?.prefix, ['FCALL_RO', 'twice', '1'])
    assert.equal(command?.definition.IS_READ_ONLY, true)
  })

  test("bad arguments reject the promise of the method with the parser's own complaint", async () => {
    const { command, returned } = captureCommand(siteNamed('mSet'), [])
    assert.equal(command, undefined)
    await assert.rejects(returned, TypeError)
  })

  test('the chain of multi() throws bad arguments at the call', () => {
    const chain = (template as unknown as { multi(): { mSet(...args: unknown[]): unknown } }).multi()
    assert.throws(() => chain.mSet(), TypeError)
  })

  test('a parser needs no more methods than ArgumentParser has', () => {
    const { BasicCommandParser } = fromRedis('@redis/client/dist/lib/client/parser.js') as {
      BasicCommandParser: { prototype: object }
    }
    const theirs = Object.getOwnPropertyNames(BasicCommandParser.prototype)
    const ours = new Set(Object.getOwnPropertyNames(ArgumentParser.prototype))
    const fields = new Set(Object.keys(new ArgumentParser(undefined)))
    assert.deepEqual(
      theirs.filter((name) => !ours.has(name) && !fields.has(name)),
      [],
    )
  })

  test('ArgumentParser writes the same words and keys as the parser of node-redis', () => {
    const { BasicCommandParser } = fromRedis('@redis/client/dist/lib/client/parser.js') as {
      BasicCommandParser: new (prefix?: string) => ArgumentParser
    }
    for (const prefix of [undefined, '', 'p:']) {
      const parsers = [new ArgumentParser(prefix === '' ? undefined : prefix), new BasicCommandParser(prefix)]
      for (const parser of parsers) {
        parser.push('A', 'B')
        parser.pushVariadic(['c', 'd'])
        parser.pushVariadic('e')
        parser.pushVariadicWithLength(['f', 'g'])
        parser.pushVariadicWithLength('h')
        parser.pushVariadicNumber([1, 2])
        parser.pushVariadicNumber(3)
        parser.pushKey('k1')
        parser.pushKey('k2', false)
        parser.pushKeys(['k3', 'k4'])
        parser.pushKeys('k5')
        parser.pushKeysLength(['k6', 'k7'])
        parser.pushKeysLength('k8')
        parser.markRoutingKey('k9')
        parser.pushKey(Buffer.from('k10') as never)
      }
      const [ours, theirs] = parsers as [ArgumentParser, ArgumentParser]
      assert.deepEqual(ours.redisArgs, theirs.redisArgs)
      assert.deepEqual(ours.keys, theirs.keys)
      assert.equal(ours.firstKey, theirs.firstKey)
      assert.deepEqual(ours.commandIdentifier, theirs.commandIdentifier)
    }
  })

  test('the type mapping knows numbers by the code of RESP_TYPES.NUMBER', () => {
    assert.equal(RESP_NUMBER, RESP_TYPES.NUMBER)
  })

  test('an object that is no client of the known shape is refused with a sentence', () => {
    assert.throws(() => readSurface({}), /this release of node-redis is not supported: /)
    assert.throws(() => readSurface(Object.create(Object.create(Object.create({ a() {} })))), /carries no method `get`/)
    const client = createClient()
    client.on('error', () => {})
    assert.ok(readSurface(client).methods.length > 800)
    client.destroy()
  })
})
