import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { createClient } from 'redis'
import { sleep } from '../../src/async/sleep.js'
import { lookUpCommand } from '../../src/commands/command-table.js'
import { routeOf } from '../../src/commands/routes.js'
import { ShardedSentinelPool } from '../../src/pool.js'
import { type PlainServers, startServers } from './commands-servers.js'

/**
 * Every command of node-redis's own definitions, called with arguments made up for it, against the pool over three shards
 * and against one plain client that has seen the same calls: same reply or same complaint. No command can be forgotten,
 * for the list is node-redis's.
 */
interface Definition {
  parseCommand(parser: unknown, ...args: unknown[]): void
}

const fromRedis = createRequire(createRequire(import.meta.url).resolve('redis'))
const definitions = fromRedis('@redis/client/dist/lib/commands/index.js').default as Record<string, Definition>
const { BasicCommandParser } = fromRedis('@redis/client/dist/lib/client/parser.js') as {
  BasicCommandParser: new () => { redisArgs: unknown[] }
}
const { COMMAND_METADATA } = fromRedis('@redis/client/dist/lib/command-metadata/command-metadata-data.js') as {
  COMMAND_METADATA: { std: Record<string, Entry> }
}
interface Entry {
  readonly tips?: readonly string[]
  readonly subcommands?: Record<string, Entry>
}

/** One hash tag, so that commands with several keys have one shard. The objects have what option objects ask for. */
const CANDIDATES: readonly unknown[] = [
  '{t}1',
  1,
  ['{t}1'],
  {
    keys: ['{t}1'],
    arguments: ['1'],
    key: '{t}1',
    id: '0',
    score: 1,
    value: '1',
    member: 'm',
    longitude: 1,
    latitude: 1,
  },
  { ...{ longitude: 1, latitude: 1 }, radius: 1, unit: 'm', type: 'EX', mode: 'BYTE', start: 0, end: 1 },
]

/** Where made-up arguments would not do, or would name keys of several shards. */
const EXAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  AUTH: [{ password: 'x' }],
  BITFIELD_RO: ['{t}1', [{ encoding: 'i8', offset: 0 }]],
  BLMOVEM: ['{t}l', '{t}m', 'LEFT', 'RIGHT', 1, { COUNT: 1, ORDER: 'OBO' }],
  CLIENT_KILL: [{ filter: 'ID', id: 1 }],
  CLIENT_LIST: [{ ID: '1' }],
  DELEX: ['{t}1', { condition: 'IFEQ', matchValue: 'a' }],
  EVAL: ['return redis.call("GET", KEYS[1])', { keys: ['{t}s'], arguments: ['a'] }],
  EVAL_RO: ['return {1, KEYS[1], ARGV[1]}', { keys: ['{t}s'], arguments: ['a'] }],
  EVALSHA: ['0000000000000000000000000000000000000000', { keys: ['{t}s'] }],
  EVALSHA_RO: ['0000000000000000000000000000000000000000', { keys: ['{t}s'] }],
  FCALL: ['f', { keys: ['{t}s'], arguments: [] }],
  FCALL_RO: ['f', { keys: ['{t}s'], arguments: [] }],
  GEORADIUS_RO_WITH: ['{t}g', { longitude: 1, latitude: 1 }, 1, 'm', ['WITHDIST']],
  GEORADIUSBYMEMBER_RO_WITH: ['{t}g', 'a', 1, 'm', ['WITHDIST']],
  HOTKEYS_START: [{ METRICS: { count: 1, CPU: true } }],
  LMOVEM: ['{t}l', '{t}m', 'LEFT', 'RIGHT', { COUNT: 1, ORDER: 'OBO' }],
  MSETEX: [['{t}x', '1', '{t}y', '2']],
  MSETNX: [['{t}x', '1', '{t}y', '2']],
  XAUTOCLAIM_JUSTID: ['{t}stream', 'g', 'c', 1, '0'],
  XCLAIM_JUSTID: ['{t}stream', 'g', 'c', 1, '0'],
}

/** The first arguments, in the order of the candidates, with which the command's own parser is content. */
function argumentsFor(name: string, definition: Definition): { args: readonly unknown[]; words: string[] } | undefined {
  const example = EXAMPLES[name]
  if (example !== undefined) {
    const words = wordsOf(definition, example)
    return words === undefined ? undefined : { args: example, words }
  }
  for (let length = 0; length <= Math.max(4, definition.parseCommand.length - 1); length++) {
    for (const args of combinations(length)) {
      const words = length < definition.parseCommand.length - 1 ? undefined : wordsOf(definition, args)
      if (words !== undefined) return { args, words }
    }
  }
  return undefined
}

/** What goes on the wire; undefined where the arguments do not make sense to the parser. */
function wordsOf(definition: Definition, args: readonly unknown[]): string[] | undefined {
  const parser = new BasicCommandParser()
  try {
    definition.parseCommand(parser, ...structuredClone(args))
  } catch {
    return undefined
  }
  const senseless = ['undefined', 'NaN', '[object Object]']
  const words = parser.redisArgs as string[]
  return words.every((word) => typeof word === 'string' && !senseless.includes(word)) ? words : undefined
}

function* combinations(length: number): Generator<unknown[]> {
  if (length === 0) return yield []
  for (const rest of combinations(length - 1)) for (const candidate of CANDIDATES) yield [...rest, candidate]
}

function isNondeterministic(words: readonly string[]): boolean {
  const outer = COMMAND_METADATA.std[words[0]!.toLowerCase()]
  const entry = outer?.subcommands?.[String(words[1]).toLowerCase()] ?? outer
  return entry?.tips?.some((tip) => tip.startsWith('nondeterministic')) === true
}

/** Where one server's own words are in the reply, or chance is: compared by kind only. */
const BY_KIND = new Set(['INFO', 'RANDOMKEY', 'ACL GENPASS', 'LOLWUT', 'FUNCTION DUMP', 'DUMP'])

async function outcome(call: () => Promise<unknown>): Promise<{ reply: unknown } | { error: string }> {
  try {
    return { reply: await call() }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

const kind = (value: unknown) => (Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value)

function makePool(servers: PlainServers, RESP: 2 | 3) {
  return new ShardedSentinelPool({ masters: servers.pooled, placementGuard: 'off', client: { RESP } })
}

function makeClient(servers: PlainServers, RESP: 2 | 3) {
  return createClient({ socket: servers.plain, RESP })
}

for (const RESP of [2, 3] as const)
  describe(`every command of node-redis over RESP ${RESP}, pool beside client`, () => {
    let servers: PlainServers
    let pool: ReturnType<typeof makePool>
    let plain: ReturnType<typeof makeClient>

    before(async () => {
      servers = await startServers()
      pool = makePool(servers, RESP)
      plain = makeClient(servers, RESP)
      plain.on('error', () => {})
      await Promise.all([pool.connect(), plain.connect()])
    })

    after(async () => {
      plain.destroy()
      await pool.close()
      await servers[Symbol.asyncDispose]()
    })

    test('commands: bad arguments and aborts of calls over several shards end as with one client', async () => {
      type Caller = Record<string, (...args: unknown[]) => Promise<unknown>>
      const calls: ((target: Caller) => Promise<unknown>)[] = [
        (target) => target.mSet!(['a', '1', 'b']),
        (target) =>
          target.mSet!([
            ['a', '1'],
            ['b', 9],
          ]),
        (target) => target.mSet!([['a', '1'], 'b', '2']),
        (target) => target.sendCommand!(['MSET', 'a', '1', 'b']),
        (target) => target.keys!(),
        (target) => target.ping!(5),
        (target) => (target.withAbortSignal!(AbortSignal.abort()) as unknown as Caller).mGet!(['a', 'b', 'c']),
        (target) => target.configGet!(['maxmemory-policy', 'appendfsync', 'hz', 'timeout', 'databases']),
      ]
      await pool.del(['a', 'b'])
      for (const call of calls) {
        const [ours, theirs] = [pool, plain].map((target) => outcome(() => call(target as unknown as Caller)))
        assert.deepEqual(await ours, await theirs, String(call))
      }
      assert.equal(await pool.exists(['a', 'b']), 0, 'no part of a bad call was carried out')
    })

    test('commands: a listener that unsubscribes in its call hears its message once', async () => {
      const heard: string[] = []
      await pool.subscribe('once', (message) => {
        heard.push(message)
        void pool.unsubscribe('once')
      })
      await pool.publish('once', '1')
      await sleep(100)
      await pool.publish('once', '2')
      await sleep(50)
      assert.deepEqual(heard, ['1'])
    })

    for (const [name, definition] of Object.entries(definitions)) {
      if (name !== name.toUpperCase()) continue
      test(`commands: ${name} answers as one client does`, async () => {
        const made = argumentsFor(name, definition)
        assert.ok(made, 'no arguments could be made up')
        const { args, words } = made
        const call = (target: unknown) => () =>
          (target as Record<string, (...a: unknown[]) => Promise<unknown>>)[name]!(...structuredClone(args))
        const facts = lookUpCommand(words[0]!, words[1])
        const route = routeOf(facts)
        const ours = await outcome(call(pool))
        if (route.kind === 'refused') {
          assert.match(JSON.stringify(ours), /is not supported by the pool/)
          return
        }
        const theirs = await outcome(call(plain))
        const label = `${words.join(' ')}\nours ${JSON.stringify(ours)}\ntheirs ${JSON.stringify(theirs)}`
        if (isNondeterministic(words) || BY_KIND.has(facts?.name ?? '')) {
          assert.equal('error' in ours, 'error' in theirs, label)
          if ('reply' in ours && 'reply' in theirs) assert.equal(kind(ours.reply), kind(theirs.reply), label)
        } else {
          assert.deepEqual(ours, theirs, label)
        }
      })
    }
  })
