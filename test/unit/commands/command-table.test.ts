import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { commandNames, isRepeatable, lookUpCommand } from '../../../src/commands/command-table.js'
import { METADATA_ROWS, METADATA_SOURCE } from '../../../src/commands/metadata.generated.js'
import { OWN_ROUTES } from '../../../src/commands/own-routes.js'
import { routeOf } from '../../../src/commands/routes.js'

interface Generator {
  clientRows(): Map<string, { request: string; container: boolean }>
  clientVersion(): string
  serverVersion(): string | undefined
  serverRows(): Promise<Map<string, { specs: string[]; groups: string[] }>>
  mergeRows(client: unknown, server: unknown): unknown[]
  render(rows: unknown, versions: unknown): string
}

const generator = (await import(
  new URL('../../../.dev/generate-command-metadata.mjs', import.meta.url).href
)) as Generator
const fromRedis = createRequire(createRequire(import.meta.url).resolve('redis'))

describe('command table', () => {
  test('metadata.generated.ts is what the generator writes from the installed node-redis and redis-server', async (t) => {
    const versions = { client: generator.clientVersion(), server: generator.serverVersion() }
    assert.equal(
      versions.client,
      METADATA_SOURCE.client,
      'node-redis has changed: run .dev/generate-command-metadata.mjs',
    )
    if (versions.server !== METADATA_SOURCE.server) {
      t.skip(`made with redis-server ${METADATA_SOURCE.server}, this is ${versions.server}`)
      return
    }
    const rows = generator.mergeRows(generator.clientRows(), await generator.serverRows())
    const text = readFileSync(new URL('../../../src/commands/metadata.generated.ts', import.meta.url), 'utf8')
    assert.equal(text, generator.render(rows, versions))
  })

  test('knows every command that node-redis publishes a policy for', () => {
    const names = new Set(commandNames())
    assert.deepEqual(
      [...generator.clientRows().keys()].filter((name) => !names.has(name)),
      [],
    )
  })

  test('every own route is the route of a command in the table', () => {
    const names = new Set(commandNames())
    assert.deepEqual(
      [...OWN_ROUTES.keys()].filter((name) => !names.has(name)),
      [],
    )
  })

  test('every command that node-redis has a method for has a row', () => {
    const definitions = fromRedis('@redis/client/dist/lib/commands/index.js').default as Record<string, unknown>
    // Methods for one command with other options or another reply are named COMMAND_WITH… and the like.
    const known = new Set(commandNames().map((name) => name.replaceAll(' ', '_')))
    const prefixes = (name: string) => name.split('_').map((_, i, parts) => parts.slice(0, i + 1).join('_'))
    // Its method is named after an option; the command is INCREX.
    known.add('INCREXBYFLOAT')
    const unknown = Object.keys(definitions)
      .filter((name) => name === name.toUpperCase())
      .filter((name) => !prefixes(name).some((prefix) => known.has(prefix)))
    assert.deepEqual(unknown, [])
  })

  test('a keyless command without a policy is refused unless we have a word for it; none goes to one shard in silence', () => {
    const silent = METADATA_ROWS.filter(([name, request]) => {
      const route = routeOf(lookUpCommand(...(name.split(' ') as [string, string])))
      return request === 'default-keyless' && route.kind !== 'refused' && !OWN_ROUTES.has(name)
    })
    assert.deepEqual(silent, [])
  })

  test('commands of one connection are refused with a hint', () => {
    for (const [command, sub] of [
      ['CLIENT', 'ID'],
      ['SELECT'],
      ['AUTH'],
      ['HELLO'],
      ['RESET'],
      ['WATCH'],
      ['MULTI'],
      ['MONITOR'],
      ['SUBSCRIBE'],
      ['QUIT'],
      ['READONLY'],
    ] as const) {
      const route = routeOf(lookUpCommand(command, sub))
      assert.equal(route.kind, 'refused', command)
      assert.ok((route as { hint: string }).hint.length > 20)
    }
  })

  test('looks names up in any case, with their subcommand where they have one', () => {
    assert.equal(lookUpCommand('get', 'key')?.name, 'GET')
    assert.equal(lookUpCommand('Object', 'encoding')?.name, 'OBJECT ENCODING')
    assert.equal(lookUpCommand('object', 'nothing'), undefined)
    assert.equal(lookUpCommand('JSON.GET', 'key')?.name, 'JSON.GET')
    assert.equal(lookUpCommand('constructor'), undefined)
  })

  test('only what changes nothing when it runs twice may be repeated', () => {
    const repeatable = (command: string, sub?: string) => isRepeatable(lookUpCommand(command, sub))
    for (const name of [
      'GET',
      'MGET',
      'HGETALL',
      'ZRANGE',
      'XREAD',
      'PING',
      'INFO',
      'EVAL_RO',
      'DBSIZE',
      'SCAN',
      'JSON.GET',
    ]) {
      assert.equal(repeatable(name), true, name)
    }
    for (const name of [
      'SET',
      'INCR',
      'GETDEL',
      'EVAL',
      'EVALSHA',
      'FCALL',
      'PUBLISH',
      'SPUBLISH',
      'XREADGROUP',
      'BLPOP',
      'SORT',
      'BITFIELD',
      'FLUSHALL',
      'WAIT',
    ]) {
      assert.equal(repeatable(name), false, name)
    }
    assert.equal(repeatable('CONFIG', 'GET'), true)
    assert.equal(repeatable('CONFIG', 'SET'), false)
    assert.equal(isRepeatable(undefined), false)
    assert.equal(isRepeatable(undefined, true), true)
    assert.equal(isRepeatable(lookUpCommand('EVALSHA'), true), true, 'a script that says it only reads')
  })
})
