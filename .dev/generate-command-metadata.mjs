// Writes src/commands/metadata.generated.ts: how each Redis command is routed, taken from the two places that know.
//
//   node-redis  request and response policies, flags, for all commands it has a method for (Redis 8 and its modules)
//   a server    key specifications and ACL groups, from the COMMAND reply of the redis-server on PATH
//
// Usage: node .dev/generate-command-metadata.mjs [--check]        --check writes nothing and exits 1 where the file differs
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const target = join(root, 'src/commands/metadata.generated.ts')
const fromHere = createRequire(join(root, 'package.json'))
const fromRedis = createRequire(fromHere.resolve('redis'))
const clientRoot = dirname(dirname(fromRedis.resolve('@redis/client')))

/** The flags and ACL groups that routing looks at; the others would only make the file longer. */
const FLAGS = new Set([
  'write',
  'readonly',
  'blocking',
  'script_runner',
  'pubsub',
  'admin',
  'noscript',
  'no_multi',
  'declared_read',
])
const GROUPS = new Set(['@connection', '@transaction'])

/** node-redis's table, flattened: `OBJECT ENCODING`, `JSON.GET`. */
export function clientRows() {
  const { COMMAND_METADATA } = fromRedis(join(clientRoot, 'dist/lib/command-metadata/command-metadata-data.js'))
  const rows = new Map()
  const add = (name, entry) => {
    rows.set(name.toUpperCase(), {
      request: entry.request,
      response: entry.response,
      flags: entry.flags ?? [],
      specs: entry.keySpecs?.map(clientSpec),
      container: entry.subcommands !== undefined,
    })
    for (const [sub, inner] of Object.entries(entry.subcommands ?? {})) add(`${name} ${sub}`, inner)
  }
  for (const [module, commands] of Object.entries(COMMAND_METADATA)) {
    for (const [name, entry] of Object.entries(commands)) add(module === 'std' ? name : `${module}.${name}`, entry)
  }
  for (const name of declaredReads()) {
    // EVAL_RO is a name with an underscore, CONFIG_GET is two words.
    const row = rows.get(name) ?? rows.get(name.replace('_', ' '))
    if (row !== undefined) row.flags = [...row.flags, 'declared_read']
  }
  return rows
}

/** Commands whose definition in node-redis says IS_READ_ONLY, although no flag of the server does: PING, INFO, CONFIG GET. */
function declaredReads() {
  const definitions = fromRedis(join(clientRoot, 'dist/lib/commands/index.js')).default
  return Object.entries(definitions)
    .filter(([name, definition]) => name === name.toUpperCase() && definition.IS_READ_ONLY === true)
    .map(([name]) => name)
}

export function clientVersion() {
  return JSON.parse(readFileSync(join(clientRoot, 'package.json'), 'utf8')).version
}

export function serverVersion() {
  try {
    return /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1]
  } catch {
    return undefined
  }
}

/** One key specification in few letters; `keySpecOf` in key-specs.ts reads it back. */
const encode = (begin, find) => `${begin}${find}`
const beginIndex = (index) => `${index}`
const beginKeyword = (word, from) => `${word}@${from}`
const findRange = (last, step, limit) => `:${last}:${step}${limit ? `:${limit}` : ''}`
const findNumber = (at, first, step) => `#${at}:${first}:${step}`

function clientSpec(spec) {
  const { beginSearch: b, findKeys: f } = spec
  const begin = b.type === 'index' ? beginIndex(b.index) : beginKeyword(b.keyword, b.startFrom)
  return encode(
    begin,
    f.type === 'range' ? findRange(f.lastKey, f.keyStep, f.limit) : findNumber(f.keyNumIdx, f.firstKey, f.keyStep),
  )
}

const tipOf = (tips, prefix) => tips.find((tip) => tip.startsWith(prefix))?.slice(prefix.length)

const fields = (list) => {
  if (!Array.isArray(list)) return list
  const out = {}
  for (let i = 0; i < list.length; i += 2) out[list[i]] = list[i + 1]
  return out
}

function serverSpec(raw) {
  const spec = fields(raw)
  const begin = fields(spec.begin_search)
  const find = fields(spec.find_keys)
  const b = fields(begin.spec)
  const f = fields(find.spec)
  if (begin.type === 'unknown' || find.type === 'unknown') return '?'
  return encode(
    begin.type === 'index' ? beginIndex(b.index) : beginKeyword(b.keyword, b.startfrom),
    find.type === 'range'
      ? findRange(f.lastkey, f.keystep, Number(f.limit))
      : findNumber(f.keynumidx ?? f.keynum_idx, f.firstkey, f.keystep),
  )
}

/** The COMMAND reply of a server started for it on a Unix socket: key specifications and ACL groups. */
export async function serverRows() {
  const folder = mkdtempSync(join(tmpdir(), 'command-metadata-'))
  const path = join(folder, 'redis.sock')
  const server = spawn('redis-server', ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder])
  try {
    await new Promise((resolve, reject) => {
      server.on('error', reject)
      server.stdout.on('data', (text) => /Ready to accept|ready to accept/.test(text) && resolve())
    })
    const { createClient } = await import(pathToFileURL(fromHere.resolve('redis')).href)
    const client = createClient({ RESP: 2, socket: { path } })
    client.on('error', () => {})
    await client.connect()
    const rows = new Map()
    const add = (entry) => {
      const [name, , , , , , categories, tips, specs, subcommands] = entry
      rows.set(name.replace('|', ' ').toUpperCase(), {
        groups: categories.filter((category) => GROUPS.has(category)),
        specs: specs.map(serverSpec),
        request: tipOf(tips, 'request_policy:'),
        response: tipOf(tips, 'response_policy:'),
      })
      for (const sub of subcommands) add(sub)
    }
    for (const entry of await client.sendCommand(['COMMAND'])) add(entry)
    client.destroy()
    return rows
  } finally {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `[name, request, response, flags, key specifications]`, sorted by name. A container keeps its own row. */
export function mergeRows(client, server) {
  const names = [...new Set([...client.keys(), ...server.keys()])].sort()
  return names.map((name) => {
    const c = client.get(name)
    const s = server.get(name)
    const groups = s?.groups ?? siblingGroups(name, server)
    const flags = [...(c?.flags ?? []).filter((flag) => FLAGS.has(flag)), ...groups].sort()
    const specs = s?.specs ?? c?.specs
    const known = specs !== undefined && (specs.length > 0 || c?.request !== 'default-keyed' || c.container)
    return [
      name,
      // node-redis drops the policy of INFO, to answer with one node's text; Redis itself says all shards.
      (c?.request === 'default-keyless' ? s?.request : undefined) ?? c?.request ?? 'unknown',
      (c?.request === 'default-keyless' ? s?.response : undefined) ?? c?.response ?? 'unknown',
      [...(c?.container ? ['container'] : []), ...flags].join(' '),
      known ? specs.join(' ') : null,
    ]
  })
}

/** A subcommand younger than the server (CLIENT NO-TOUCH) is of the groups that all its elder siblings are of. */
function siblingGroups(name, server) {
  const [container, sub] = name.split(' ')
  const siblings = sub === undefined ? [] : [...server].filter(([other]) => other.startsWith(`${container} `))
  if (siblings.length === 0) return []
  return [...GROUPS].filter((group) => siblings.every(([, row]) => row.groups.includes(group)))
}

export function render(rows, versions) {
  const literal = (value) => (value === null ? 'null' : `'${value}'`)
  const lines = rows.map((row) => `  [${row.map(literal).join(', ')}],`)
  return `// Written by .dev/generate-command-metadata.mjs. Do not edit: run it again.

/** Where the rows come from: the @redis/client release and the redis-server release. */
export const METADATA_SOURCE = { client: '${versions.client}', server: '${versions.server}' } as const

/** Name, request policy, response policy, flags, key specifications (null: nobody told; the server is asked). */
export type MetadataRow = readonly [string, string, string, string, string | null]

// biome-ignore format: one command a line is what a person can read and a diff can show
export const METADATA_ROWS: readonly MetadataRow[] = [
${lines.join('\n')}
]
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const versions = { client: clientVersion(), server: serverVersion() }
  const text = render(mergeRows(clientRows(), await serverRows()), versions)
  if (process.argv.includes('--check')) {
    if (readFileSync(target, 'utf8') !== text) {
      console.error('src/commands/metadata.generated.ts is not what the generator writes; run it')
      process.exitCode = 1
    }
  } else {
    writeFileSync(target, text)
    console.log(`${text.split('\n').length} lines, from @redis/client ${versions.client}, redis ${versions.server}`)
  }
}
