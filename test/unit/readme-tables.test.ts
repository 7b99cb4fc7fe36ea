import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as errors from '../../src/errors.js'
import { DEFAULTS, readOptions } from '../../src/options.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(`${root}README.md`, 'utf8')
const source = (file: string) => readFileSync(`${root}src/${file}`, 'utf8')

/** The rows of the table between `<!-- name: … -->` and `<!-- end of name -->`, without its heading. */
function tableOf(name: string): string[][] {
  const start = readme.indexOf(`<!-- ${name}:`)
  const end = readme.indexOf(`<!-- end of ${name} -->`)
  assert.ok(start >= 0 && end > start, `README has a table of ${name}`)
  const rows = readme
    .slice(start, end)
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** Names of the members of an interface, as written in its file. */
function membersOf(file: string, name: string): string[] {
  const text = source(file)
  const start = text.search(new RegExp(`^export interface ${name}\\b`, 'm'))
  // The body begins where a line ends with the brace: type parameters may have braces of their own.
  const body = text.slice(text.slice(start).search(/\{$/m) + start)
  const members = body.slice(0, body.search(/^\}/m)).matchAll(/^ {2}(?:readonly )?'?([\w-]+)'?\??:/gm)
  return [...members].map((member) => member[1]!)
}

const plain = (cell: string) => cell.replaceAll('`', '')
const options = tableOf('options').map(([name, unit, preset, bounds]) => ({
  name: plain(name!),
  unit: unit!,
  preset: plain(preset!),
  bounds: plain(bounds!),
}))
const BASE = { masters: ['a'], sentinels: ['127.0.0.1:26379'] }

/** Options that differ from the least that is needed in one: `name` may be `pool.max`. */
function optionsWith(name: string, value: unknown): object {
  const [outer, inner] = name.split('.') as [string, string | undefined]
  if (inner === undefined) return { ...BASE, [outer]: value }
  // `pool.min` must fit under `pool.max`.
  return { ...BASE, [outer]: inner === 'min' ? { max: 10_000, min: value } : { [inner]: value } }
}

function accepts(name: string, value: unknown): boolean {
  try {
    readOptions(optionsWith(name, value))
    return true
  } catch (error) {
    assert.ok(error instanceof errors.InvalidOptionsError, String(error))
    return false
  }
}

test('README: the table of options names every option there is, and no other', () => {
  const all = membersOf('options.ts', 'PoolOptions').filter((name) => name !== 'pool')
  const leases = membersOf('options.ts', 'LeasePoolOptions').map((name) => `pool.${name}`)
  assert.ok(all.length > 20 && leases.length === 5)
  assert.deepEqual(options.map(({ name }) => name).sort(), [...all, ...leases].sort())
})

test('README: the table of options tells the defaults of src/options.ts', () => {
  const { pool, ...rest } = DEFAULTS
  const leases = Object.entries(pool).map(([name, value]) => [`pool.${name}`, value] as const)
  const wrong = [...Object.entries(rest), ...leases].flatMap(([name, value]) => {
    const said = options.find((option) => option.name === name)?.preset
    return said === String(value) ? [] : [`${name}: README says ${said}, the code ${value}`]
  })
  assert.deepEqual(wrong, [])
})

test('README: every option whose name ends in Ms has the unit ms, and no other has', () => {
  for (const { name, unit } of options) assert.equal(unit, name.endsWith('Ms') ? 'ms' : '', name)
})

test('README: the bounds in the table are those the code keeps, to the last number', () => {
  let ranges = 0
  for (const { name, bounds } of options) {
    const range = /^(\d+) – (\d+|pool\.max)(, 0: none)?$/.exec(bounds)
    if (range === null) continue
    ranges++
    const [least, most] = [Number(range[1]), range[2] === 'pool.max' ? 10_000 : Number(range[2])]
    assert.ok(accepts(name, least) && accepts(name, most), `${name} takes ${bounds}`)
    assert.ok(!accepts(name, least - 1) && !accepts(name, most + 1), `${name} takes nothing outside ${bounds}`)
    assert.equal(accepts(name, 0), range[3] !== undefined || least === 0, `${name}: 0`)
  }
  const numbers = [...Object.values(DEFAULTS), ...Object.values(DEFAULTS.pool)].filter((v) => typeof v === 'number')
  assert.equal(ranges, numbers.length, 'every number has its bounds')
})

test('README: the choices in the table are those the code takes', () => {
  const chosen = options.filter(({ bounds }) => /^\w+(, \w+)+$/.test(bounds))
  assert.equal(chosen.length, 5)
  for (const { name, bounds } of chosen) {
    for (const choice of bounds.split(', ')) {
      assert.ok(accepts(name, name === 'requireAllShards' ? choice === 'true' : choice), `${name}: ${choice}`)
    }
    assert.ok(!accepts(name, 'something else'), name)
    const declared = new RegExp(`choice\\(given, '${name}', \\[(.*?)\\]\\)`).exec(source('options.ts'))?.[1]
    if (declared !== undefined) assert.equal(declared.replaceAll("'", ''), bounds)
  }
})

test('README: the client options it lists as refused are those that are refused', () => {
  const sentence = /Of the `client` options the pool decides these itself and refuses them: ([\s\S]*?)\.\n\n/.exec(
    readme,
  )
  const said = [...sentence![1]!.matchAll(/`([\w.]+)`/g)].map((word) => word[1]!)
  for (const name of said) {
    const [outer, inner] = name.split('.') as [string, string | undefined]
    const client = inner === undefined ? { [outer]: 'x' } : { [outer]: { [inner]: 'x' } }
    assert.throws(() => readOptions({ ...BASE, client }), { code: 'INVALID_OPTIONS', option: `client.${name}` })
  }
  const table = /REFUSED_CLIENT_OPTIONS[^{]*\{([\s\S]*?)\n\}/.exec(source('options.ts'))![1]!
  const inCode = [...table.matchAll(/^ {2}(\w+):/gm)].map((name) => name[1]!)
  assert.deepEqual(said.filter((name) => !name.startsWith('socket.')).sort(), inCode.sort())
})

test('README: the table of events names every event there is, and what it brings', () => {
  const rows = tableOf('events')
  const names = rows.map(([name]) => plain(name!))
  assert.deepEqual([...names].sort(), membersOf('events.ts', 'PoolEvents').sort())
  for (const [name, , brings] of rows) {
    const type = new RegExp(`^ {2}'?${plain(name!)}'?: \\(event: (\\w+)\\)`, 'm').exec(source('events.ts'))?.[1]
    if (type === undefined) continue
    const said = [...brings!.matchAll(/`(\w+)`/g)].map((word) => word[1]!)
    assert.deepEqual(said.sort(), membersOf('events.ts', type).sort(), plain(name!))
  }
})

const ADDRESS = { host: '127.0.0.1', port: 6379 }
const PICTURE = { size: 0, max: 8, idle: 0, borrowed: 0, pending: 0, oldestLeaseMs: 0 }
const EXAMPLES: readonly errors.ShardedSentinelPoolError[] = [
  new errors.InvalidOptionsError('a', 'b'),
  new errors.InvalidKeyError(1),
  new errors.CrossShardError('MULTI', ['a', 'b'], ['x', 'y']),
  new errors.UnsupportedCommandError('A', 'b'),
  new errors.PoolClosedError(),
  new errors.SentinelsUnreachableError('a', []),
  new errors.UnknownMasterError('a', []),
  new errors.RoleMismatchError('a', ADDRESS, 'slave'),
  new errors.MasterUnreachableError('a', ADDRESS, 'ECONNREFUSED', 'no'),
  new errors.ShardUnavailableError('a', 'no-master', 0),
  new errors.AcquireTimeoutError('a', 1, PICTURE),
  new errors.CommandTimeoutError('a', 'GET', 1, 'unknown'),
  new errors.ConnectionLostError('a', 'GET', 'unknown'),
  new errors.LeaseReleasedError('a', 'released'),
  new errors.PlacementMismatchError('a', []),
  new errors.MultiShardError('MGET', [{ shard: 'a', keys: [], error: new Error('no') }]),
  new errors.NotReplicatedError('a', 'SET', { replicas: 1, timeoutMs: 1 }, 0, 'OK'),
]

test('README: the table of errors names every code there is, its class, whether a retry may help, and real fields', () => {
  const declared = /export type ErrorCode =\n([\s\S]*?)\n\n/.exec(source('errors.ts'))![1]!
  const codes = [...declared.matchAll(/'(\w+)'/g)].map((code) => code[1]!)
  const rows = tableOf('errors')
  assert.deepEqual(rows.map(([code]) => plain(code!)).sort(), codes.sort())
  for (const [code, name, retryable, text] of rows) {
    const example = EXAMPLES.find((one) => one.code === plain(code!))
    assert.ok(example, `this test has an example of ${code}`)
    assert.equal(example.name, plain(name!))
    assert.equal(example.retryable, retryable === 'yes', `${code}: retryable`)
    for (const field of text!.matchAll(/`(\w+)`/g)) assert.ok(field[1]! in example, `${code} has ${field[1]}`)
  }
  assert.equal(new errors.LeaseReleasedError('a', 'failover').retryable, true)
})
