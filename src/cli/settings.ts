import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MasterOptions, PoolOptions } from '../index.js'
import type { Flag, Flags } from './flags.js'
import { UsageError } from './usage-error.js'

/** The pool's options while they are put together; the library checks them. */
type Draft = { -readonly [Name in keyof PoolOptions]?: PoolOptions[Name] }

const ENV = 'SHARDED_SENTINEL_POOL_'

/** Which topology: the same for every command that asks one. A flag wins over the environment, that over the file. */
export const SETTINGS_FLAGS: readonly Flag[] = [
  {
    name: 'config',
    short: 'c',
    value: '<file>',
    help: `The constructor's options: .json, or .js/.mjs/.cjs exporting them [${ENV}CONFIG]`,
  },
  {
    name: 'masters',
    short: 'm',
    value: '<names>',
    help: `Master names in order, with weights: cache-a,cache-b:2 [${ENV}MASTERS]`,
  },
  {
    name: 'sentinels',
    short: 's',
    value: '<addresses>',
    help: `Sentinels: 10.0.0.1:26379,[::1]:26379 [${ENV}SENTINELS]`,
  },
  { name: 'preset', value: '<name>', help: `Ring preset: murmur3, jedis, ketama … [${ENV}PRESET]` },
  {
    name: 'address-map',
    value: '<from=to>',
    multiple: true,
    help: 'Announced address=reachable address; may be repeated',
  },
  { name: 'username', value: '<name>', help: `User on the data nodes [${ENV}USERNAME]` },
  {
    name: 'password',
    value: '<text>',
    help: `Its password; better given by ${ENV}PASSWORD, which no process list shows`,
  },
  { name: 'sentinel-username', value: '<name>', help: `User on the sentinels [${ENV}SENTINEL_USERNAME]` },
  { name: 'sentinel-password', value: '<text>', help: `Its password [${ENV}SENTINEL_PASSWORD]` },
  { name: 'tls', help: 'TLS to the data nodes' },
  { name: 'sentinel-tls', help: 'TLS to the sentinels' },
  { name: 'ca', value: '<file>', help: 'PEM file of the authority that signed their certificates' },
]

/** Puts the options together from the file, the environment and the flags. @throws UsageError */
export async function readSettings(
  flags: Flags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PoolOptions> {
  const given = (name: string) => flags.text(name) ?? (env[ENV + name.toUpperCase().replaceAll('-', '_')] || undefined)
  const file = given('config')
  const draft: Draft = file === undefined ? {} : { ...(await readConfigFile(file)) }
  const masters = given('masters')
  if (masters !== undefined) draft.masters = readMasters(masters)
  const sentinels = given('sentinels')
  if (sentinels !== undefined) draft.sentinels = words(sentinels)
  const preset = given('preset')
  if (preset !== undefined) draft.ring = { preset } as PoolOptions['ring'] & {}
  const map = flags.all('address-map')
  if (map.length > 0) draft.addressMap = readMap(map)
  const ca = flags.text('ca') === undefined ? undefined : await readText(flags.text('ca')!, '--ca')
  const client = credentials(given('username'), given('password'), flags.has('tls'), ca)
  if (client !== undefined) draft.client = { ...draft.client, ...client }
  const sentinelClient = credentials(
    given('sentinel-username'),
    given('sentinel-password'),
    flags.has('sentinel-tls'),
    ca,
  )
  if (sentinelClient !== undefined) draft.sentinelClient = { ...draft.sentinelClient, ...sentinelClient }
  if (draft.masters === undefined) {
    throw new UsageError(
      `say which shards: --masters and --sentinels, --config <file>, or ${ENV}MASTERS and ${ENV}SENTINELS`,
    )
  }
  return draft as PoolOptions
}

/** The object that a file exports: JSON, or a module's default export, `options`, or `module.exports`. @throws UsageError */
export async function readConfigFile(file: string): Promise<PoolOptions> {
  const path = resolve(file)
  let value: unknown
  if (extname(path) === '.json') {
    const text = await readText(path, file)
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new UsageError(`${file} is no JSON: ${(error as Error).message}`)
    }
  } else if (/^\.[cm]?js$/.test(extname(path))) {
    value = await importOptions(path, file)
  } else {
    throw new UsageError(`${file} must end in .json, .js, .mjs or .cjs`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as PoolOptions
  throw new UsageError(`${file} must hold an object: what the constructor of the pool takes`)
}

/** In a CommonJS build the compiler turns `import()` into `require()`, which cannot load every module; this it leaves alone. */
const importModule = new Function('url', 'return import(url)') as (url: string) => Promise<Record<string, unknown>>

async function importOptions(path: string, file: string): Promise<unknown> {
  try {
    const module = await importModule(pathToFileURL(path).href)
    const found = module.default ?? module.options
    return isNested(found) ? found.default : found
  } catch (error) {
    throw new UsageError(`${file} cannot be loaded: ${(error as Error).message}`)
  }
}

/** A module that was compiled to CommonJS has its default export one level deeper. */
function isNested(value: unknown): value is { readonly default: unknown } {
  return typeof value === 'object' && value !== null && '__esModule' in value && 'default' in value
}

async function readText(path: string, named: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${named} cannot be read: ${error.code ?? error.message}`)
  })
}

function readMasters(text: string): readonly (string | MasterOptions)[] {
  return words(text).map((word) => {
    const parts = /^(.+):(\d+(?:\.\d+)?)$/.exec(word)
    return parts === null ? word : { name: parts[1]!, weight: Number(parts[2]) }
  })
}

function readMap(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const parts = /^([^=]+)=([^=]+)$/.exec(pair)
      if (parts === null)
        throw new UsageError(`--address-map wants from=to, as in 10.0.0.5:6379=127.0.0.1:7001, not '${pair}'`)
      return [parts[1]!, parts[2]!]
    }),
  )
}

function credentials(username: string | undefined, password: string | undefined, tls: boolean, ca: string | undefined) {
  if (username === undefined && password === undefined && !tls) return undefined
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { socket: { tls: true as const, ...(ca === undefined ? {} : { ca }) } } : {}),
  }
}

function words(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean)
}
