import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The rooms of `src/`, and which rooms each may import. What is not listed is a wrong arrow. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  cli: ['index'],
  index: ['pool', 'inspect', 'commands', 'shard', 'sentinel', 'ring', 'leaf'],
  inspect: ['pool', 'sentinel', 'ring', 'leaf'],
  opentelemetry: ['commands', 'shard', 'leaf'],
  pool: ['commands', 'shard', 'sentinel', 'ring', 'leaf'],
  commands: ['shard', 'ring', 'leaf'],
  shard: ['sentinel', 'leaf'],
  sentinel: ['leaf'],
  ring: ['leaf'],
  testing: ['leaf'],
  leaf: [],
}

/** Files at the top that are rooms of their own, or belong to one; every other file at the top is a leaf. */
const TOP: Readonly<Record<string, string>> = {
  'index.ts': 'index',
  'pool.ts': 'pool',
  'life-cycle.ts': 'pool',
  'assembly.ts': 'pool',
  'placement-guard.ts': 'pool',
  'shard-handle.ts': 'pool',
}

/** Leaves that name a type of a room, since it stands in an option; nothing of that room is loaded by it. */
const TYPES_ONLY = ['options.ts -> ring', 'options.ts -> sentinel']

/** Every dependency has one door. */
const DOORS: Readonly<Record<string, RegExp>> = {
  redis: /^redis-client\.ts$/,
  'generic-pool': /^shard\/slot-pool\.ts$/,
  'murmurhash3js-revisited': /^ring\//,
  eventemitter3: /^events\.ts$/,
}

/** Only these may be imported from Node by a room that does no I/O. */
const PURE_ROOMS: Readonly<Record<string, readonly string[]>> = { ring: ['node:crypto'] }

interface Arrow {
  readonly from: string
  readonly to: string
  readonly typesOnly: boolean
}

const files = (readdirSync(`${root}src`, { recursive: true }) as string[])
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'))
  .sort()
const arrows = files.flatMap(importsOf)

function importsOf(file: string): Arrow[] {
  const text = withoutComments(readFileSync(`${root}src/${file}`, 'utf8'))
  const statements = text.matchAll(/^(?:import|export)\b(?:[^'"]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*'([^']+)'/gm)
  return [...statements].map((found) => {
    const to = (found[1] ?? found[2])!
    const inside = to.startsWith('.') ? posix.join(posix.dirname(file), to).replace(/\.js$/, '.ts') : to
    return { from: file, to: inside, typesOnly: /^(import|export) type\b/.test(found[0]) }
  })
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

function roomOf(file: string): string {
  const folder = file.includes('/') ? file.slice(0, file.indexOf('/')) : undefined
  if (folder === undefined) return TOP[file] ?? 'leaf'
  return folder === 'async' ? 'leaf' : folder
}

function isInside(to: string): boolean {
  return to.endsWith('.ts')
}

test('the imports of src are read: every file but the leaves imports something, and each target exists', () => {
  assert.ok(arrows.length > files.length)
  const missing = arrows.filter(({ to }) => isInside(to) && !files.includes(to))
  assert.deepEqual(missing, [])
})

test('no import goes against the order cli -> index -> pool -> commands -> shard -> sentinel, ring and leaves aside', () => {
  const wrong = arrows.flatMap(({ from, to, typesOnly }) => {
    if (!isInside(to)) return []
    const [source, target] = [roomOf(from), roomOf(to)]
    if (source === target || MAY_IMPORT[source]?.includes(target)) return []
    if (typesOnly && TYPES_ONLY.includes(`${from} -> ${target}`)) return []
    return [`${from} (${source}) must not import ${to} (${target})`]
  })
  assert.deepEqual(wrong, [])
})

test('every dependency is imported by one file, and none is there that package.json does not name', () => {
  const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    dependencies: Record<string, string>
  }
  assert.deepEqual(Object.keys(dependencies).sort(), Object.keys(DOORS).sort())
  const outside = arrows.filter(({ to }) => !isInside(to) && !to.startsWith('node:'))
  const optional = Object.keys(
    (JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { peerDependencies?: object }).peerDependencies ?? {},
  )
  const strangers = outside.filter(({ to }) => DOORS[to] === undefined && !optional.includes(to))
  assert.deepEqual(strangers, [])
  for (const [dependency, door] of Object.entries(DOORS)) {
    const importers = [...new Set(outside.filter(({ to }) => to === dependency).map(({ from }) => from))]
    assert.equal(importers.length, 1, `${dependency} has one importer, not ${importers.join(', ')}`)
    assert.match(importers[0]!, door)
  }
})

test('the ring does no I/O: of Node it imports hashes only', () => {
  for (const [room, allowed] of Object.entries(PURE_ROOMS)) {
    const wrong = arrows.filter(
      ({ from, to }) => roomOf(from) === room && to.startsWith('node:') && !allowed.includes(to),
    )
    assert.deepEqual(wrong, [])
  }
})

test('a file of more than 300 lines says in its first comment why it is long', () => {
  const wrong = files.filter((file) => {
    const text = readFileSync(`${root}src/${file}`, 'utf8')
    if (text.split('\n').length <= 301) return false
    const first = /^(\/\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(text)?.[0]
    return first === undefined || !/\blong|\bgenerate/i.test(first)
  })
  assert.deepEqual(wrong, [])
})

test('no declaration that is published says `any`', () => {
  const folder = mkdtempSync(join(tmpdir(), 'declarations-'))
  try {
    const tsc = createRequire(import.meta.url)
      .resolve('typescript/package.json')
      .replace('package.json', 'bin/tsc')
    const flags = ['--emitDeclarationOnly', '--sourceMap', 'false', '--inlineSources', 'false', '--outDir', folder]
    spawnSync(process.execPath, [tsc, '-p', '.dev/tsconfig.build.json', ...flags], { cwd: root })
    const declarations = readdirSync(folder, { recursive: true }).map(String).sort()
    assert.ok(declarations.includes('index.d.ts'), 'tsc wrote declarations')
    const wrong = declarations.flatMap((file) => {
      if (!file.endsWith('.d.ts')) return []
      const code = withoutComments(readFileSync(join(folder, file), 'utf8')).replace(/'[^'\n]*'|"[^"\n]*"/g, "''")
      return code.split('\n').flatMap((line) => (/\bany\b/.test(line) ? [`${file}: ${line.trim()}`] : []))
    })
    assert.deepEqual(wrong, [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
