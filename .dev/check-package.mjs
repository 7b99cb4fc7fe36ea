// Checks what a user gets: the very tarball, linted, typed, installed into an empty project and run, every way there is.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = (name) => join(root, 'node_modules/.bin', name)
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'check-package-'))
const app = join(folder, 'app')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const failures = []

/** Runs a command; prints its output only when it failed, or when asked. */
function run(what, command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 240_000,
    ...options,
  })
  if (status === 0) console.log(`ok   ${what}`)
  else {
    console.log(`FAIL ${what}\n${stdout}${stderr}${error ?? ''}`)
    failures.push(what)
  }
  return { ok: status === 0, stdout }
}

function check(what, problems) {
  if (problems.length === 0) console.log(`ok   ${what}`)
  else {
    console.log(`FAIL ${what}\n  ${problems.join('\n  ')}`)
    failures.push(what)
  }
}

/** Writes files into the empty project. */
function put(files) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(app, name), text)
}

// --- The tarball -----------------------------------------------------------------------------------------------------

const packed = run('npm pack builds and packs', 'npm', ['pack', '--json', '--pack-destination', folder])
if (!packed.ok) process.exit(1)
const tarball = join(
  folder,
  readdirSync(folder).find((name) => name.endsWith('.tgz')),
)
const listed = spawnSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).stdout.trim().split('\n')
const names = listed.map((name) => name.replace(/^package\//, ''))
check(
  `the tarball holds dist, README.md, LICENSE and package.json only (${names.length} files)`,
  names.filter((name) => !/^(dist\/.+|README\.md|LICENSE|package\.json)$/.test(name)),
)
check(
  'the tarball holds README.md and LICENSE',
  ['README.md', 'LICENSE', 'package.json'].filter((name) => !names.includes(name)),
)
run('publint finds nothing', bin('publint'), ['run', tarball, '--strict'])
// node10 is what TypeScript calls resolution before `exports`; Node 20 and newer do not resolve that way.
run('attw: types are right for node16, nodenext and bundler', bin('attw'), [tarball, '--profile', 'node16'])

// --- In an empty project ---------------------------------------------------------------------------------------------

mkdirSync(app)
put({ 'package.json': '{ "name": "empty", "private": true }\n' })
if (existsSync(join(root, '.npmrc'))) copyFileSync(join(root, '.npmrc'), join(app, '.npmrc'))
const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball]
if (!run('the tarball installs into an empty project', 'npm', install, { cwd: app }).ok) process.exit(1)
check(
  'it brings its four dependencies and what they need, nothing that builds or tests',
  Object.keys(manifest.devDependencies).filter(
    (name) => !name.startsWith('@types/') && existsSync(join(app, 'node_modules', name)),
  ),
)

/** The quick start on real servers that the tarball's own LocalTopology starts. Prints GET's answer. */
const quickStart = `
async function main() {
  const topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], replicas: 0 })
  const pool = new ShardedSentinelPool({ masters: topology.masters, sentinels: topology.sentinels })
  await pool.connect()
  await pool.set('user:1', 'Ada')
  const lease = await pool.acquire('user:1')
  const length = await lease.client.strLen('user:1')
  await lease.release()
  const value = await pool.get('user:1')
  await pool.close()
  await topology.close()
  if (value !== 'Ada' || length !== 3) throw new Error('GET said ' + value + ', STRLEN ' + length)
}
main().catch((error) => { console.error(error); process.exitCode = 1 })
`
put({
  'run.mjs': `import { ShardedSentinelPool } from 'sharded-sentinel-pool'
import { LocalTopology } from 'sharded-sentinel-pool/testing'
${quickStart}`,
  'run.cjs': `const { ShardedSentinelPool } = require('sharded-sentinel-pool')
const { LocalTopology } = require('sharded-sentinel-pool/testing')
${quickStart}`,
  'same.mjs': `import { createRequire } from 'node:module'
import * as esm from 'sharded-sentinel-pool'
const cjs = createRequire(import.meta.url)('sharded-sentinel-pool')
for (const name of Object.keys(cjs)) if (cjs[name] !== esm[name]) throw new Error(name + ' is there twice')
for (const name of Object.keys(esm)) if (name !== 'default' && !(name in cjs)) throw new Error(name + ' is ESM only')
`,
  'ring.cjs': `const { createRing } = require('sharded-sentinel-pool/ring')
const ring = createRing({ shards: [{ name: 'a' }, { name: 'b' }] })
if (![0, 1].includes(ring.locate('user:1'))) throw new Error('no place for a key')
const loaded = Object.keys(require.cache).filter((file) => /node_modules.(@?redis|generic-pool|eventemitter3)\\b/.test(file))
if (loaded.length > 0) throw new Error('the ring loads ' + loaded)
`,
  'ring.mjs': `import { createRequire } from 'node:module'
import { createRing } from 'sharded-sentinel-pool/ring'
if (createRing({ shards: [{ name: 'a' }] }).locate('user:1') !== 0) throw new Error('no place for a key')
const { cache } = createRequire(import.meta.url)
const loaded = Object.keys(cache).filter((file) => /node_modules.(@?redis|generic-pool|eventemitter3)\\b/.test(file))
if (loaded.length > 0) throw new Error('the ring loads ' + loaded)
`,
})
for (const [what, file] of [
  ['the quick start runs as an ES module', 'run.mjs'],
  ['the quick start runs as CommonJS', 'run.cjs'],
  ['import and require give the same classes', 'same.mjs'],
  ['sharded-sentinel-pool/ring does not load redis, by require', 'ring.cjs'],
  ['sharded-sentinel-pool/ring does not load redis, by import', 'ring.mjs'],
]) {
  run(what, process.execPath, [file], { cwd: app })
}

const cli = join(app, 'node_modules/.bin/sharded-sentinel-pool')
run('the command line starts', cli, ['--version'], { cwd: app })

// --- Types -----------------------------------------------------------------------------------------------------------

const consumer = `
import { type FailoverEvent, MultiShardError, type PoolOptions, ShardedSentinelPool } from 'sharded-sentinel-pool'
import { createRing } from 'sharded-sentinel-pool/ring'
import { LocalTopology } from 'sharded-sentinel-pool/testing'
const options: PoolOptions = { masters: ['a', { name: 'b', weight: 2 }], sentinels: ['127.0.0.1:26379'] }
export async function use(): Promise<void> {
  const pool = new ShardedSentinelPool(options)
  pool.on('failover', (event: FailoverEvent) => event.to.port.toFixed())
  // @ts-expect-error there is no such event
  pool.on('failovr', () => {})
  const value: string | null = await pool.get('key')
  const count: number = await pool.incr('key')
  // @ts-expect-error a value is missing
  await pool.set('key')
  const index: number = createRing({ shards: [{ name: 'a' }] }).locate('key')
  const topology = await LocalTopology.start()
  const where: readonly string[] = topology.masters
  const isMulti: boolean = value as unknown instanceof MultiShardError
  console.log(value, count, index, where, isMulti)
}
`
const nodeTypes = join(root, 'node_modules/@types')
put({ 'consumer.ts': consumer, 'consumer.mts': consumer, 'consumer.cts': consumer })
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const strict = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,esnext.disposable']
const flags = [...strict, '--exactOptionalPropertyTypes', '--types', 'node', '--typeRoots', nodeTypes]
const ways = [
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
]
for (const [module, resolution] of ways) {
  // A bundler takes what is written as ES module; a .cts has no place there.
  const sources =
    resolution === 'bundler' ? ['consumer.ts', 'consumer.mts'] : ['consumer.ts', 'consumer.mts', 'consumer.cts']
  const args = [tsc, ...flags, '--module', module, '--moduleResolution', resolution, ...sources]
  run(`a consumer type-checks under ${resolution}: ${sources.join(', ')}`, process.execPath, args, { cwd: app })
}

// --- Bundled ---------------------------------------------------------------------------------------------------------

// What an ES module bundle of CommonJS code needs in Node, as esbuild's own documentation has it.
const banner = `--banner:js=import { createRequire as _r } from 'node:module'; const require = _r(import.meta.url);`
const bundles = [
  { format: 'esm', file: 'run.mjs', out: 'bundle.mjs', more: [banner] },
  { format: 'cjs', file: 'run.cjs', out: 'bundle.cjs', more: [] },
]
for (const { format, file, out, more } of bundles) {
  const args = [
    file,
    '--bundle',
    '--platform=node',
    `--format=${format}`,
    `--outfile=${out}`,
    '--log-level=error',
    ...more,
  ]
  run(`esbuild bundles a program that uses it, as ${format}`, bin('esbuild'), args, { cwd: app })
}
// Without what was installed: a bundle stands alone.
rmSync(join(app, 'node_modules'), { recursive: true, force: true })
for (const { format, out } of bundles) run(`the ${format} bundle runs`, process.execPath, [out], { cwd: app })

if (failures.length > 0) {
  console.log(`\n${failures.length} checks failed: ${failures.join('; ')}`)
  process.exitCode = 1
}
