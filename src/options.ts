/* Longer than most: every option, its default and its check stand in one file, so that none can be forgotten. */
import { type Address, addressKey, isPort, parseAddress } from './address.js'
import { InvalidOptionsError } from './errors.js'
import { suggestion } from './nearest.js'
import type {
  ClientOptions,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from './redis-client.js'
import type { RingChoice } from './ring/index.js'
import type { Resolver } from './sentinel/index.js'

/** The only file with defaults and option checks (rings check their own: `ring/`). */

/** A shard: the name Sentinel monitors its master under, and what differs from the defaults. */
export interface MasterOptions {
  /** Sentinel's master name. Not blank, unique in the list. */
  readonly name: string
  /** How much more keys than others it holds. At least 0; 0 holds none. @default 1 */
  readonly weight?: number
  /** What enters the ring in place of the name; lets a ring keep old addresses as labels. @default name */
  readonly label?: string
  /** Static address, for a pool without `sentinels`. */
  readonly host?: string
  /** Static port. 1 to 65535. @default 6379 */
  readonly port?: number
}

/** Exclusive connections of one shard, taken by `use`, `acquire` and blocking commands. */
export interface LeasePoolOptions {
  /** Kept open and idle. 0 to `max`. @default 1 */
  readonly min?: number
  /** Most at once. 1 to 10,000. @default 8 */
  readonly max?: number
  /** Longest wait of `acquire`, in ms. 1 to 2^31-1. @default 5000 */
  readonly acquireTimeoutMs?: number
  /** A connection above `min` that was idle for so long is closed, in ms. @default 30000 */
  readonly idleTimeoutMs?: number
  /** Most callers that may wait per shard, for a lease or for a master; above it calls fail at once. @default 10000 */
  readonly maxWaiting?: number
}

/** What the constructor of the pool takes. All durations are in ms and named `…Ms`. */
export interface PoolOptions<
  M extends RedisModules = Record<never, never>,
  F extends RedisFunctions = Record<never, never>,
  S extends RedisScripts = Record<never, never>,
  RESP extends RespVersions = 3,
  TM extends TypeMapping = Record<never, never>,
> {
  /** The shards, in order. At least one. Adding a name moves its share of the keys; the order matters to some ring presets. */
  readonly masters: readonly (string | MasterOptions)[]
  /** Sentinel seeds, `host:port` or `{host, port}`; port 26379 where none is given. Never forgotten. */
  readonly sentinels?: readonly (string | { readonly host: string; readonly port?: number })[]
  /** Where keys go: a preset with its options, or an own ring. See `createRing`. @default { preset: 'murmur3' } */
  readonly ring?: RingChoice
  /** node-redis client options for data nodes (username, password, database, socket.tls, RESP, modules, scripts …). */
  readonly client?: ClientOptions<M, F, S, RESP, TM>
  /** The same for sentinels. The two are never mixed. */
  readonly sentinelClient?: ClientOptions
  /** Real address to reachable address (NAT, containers): a record by `host:port`, or a function. */
  readonly addressMap?: AddressMap
  /** Own discovery in place of `sentinels`. */
  readonly resolver?: Resolver
  readonly pool?: LeasePoolOptions
  /** Pipelined connections per shard that ordinary commands share. 1 to 64. @default 1 */
  readonly sharedConnections?: number
  /** Every call ends within this, in ms, wherever it is. 0: no deadline. 50 to 2^31-1. @default 5000 */
  readonly commandTimeoutMs?: number
  /** A sentinel that has not answered within this is passed over, in ms. 10 to 60000. @default 300 */
  readonly sentinelTimeoutMs?: number
  /** Connecting to a data node, with its whole handshake, in ms. 10 to 60000. @default 1000 */
  readonly connectTimeoutMs?: number
  /** The sentinels are asked for every shard this often even when nothing is heard, in ms. 100 to 3600000. @default 10000 */
  readonly pollIntervalMs?: number
  /** A quiet connection is asked for a sign of life this often, in ms. 100 to 3600000. @default 5000 */
  readonly heartbeatMs?: number
  /** Writes to a shard whose failover is announced wait at most this long for the new master, in ms. 0 to 60000. @default 2000 */
  readonly holdWritesMs?: number
  /** `connect()` gives up after this, in ms. 1 to 2^31-1. @default 10000 */
  readonly connectDeadlineMs?: number
  /** False: `connect()` resolves with the shards that are there (at least one); the rest joins later. @default true */
  readonly requireAllShards?: boolean
  /** Most calls in flight or queued on one shared connection; above it calls fail at once. 1 to 2^31-1; below 8 it is 8. @default 100000 */
  readonly maxInFlight?: number
  /**
   * What may be repeated after it may have run: `'safe'` read-only commands; `'never'` nothing, not even what was refused
   * unexecuted; `'always'` writes too, which may then run twice. @default 'safe'
   */
  readonly retry?: 'safe' | 'never' | 'always'
  /** Where read-only commands go. @default 'master' */
  readonly readFrom?: 'master' | 'preferReplica' | 'replica'
  /** Compares the ring with what the shards' data was placed by: see README, placement guard. @default 'check' */
  readonly placementGuard?: 'check' | 'claim' | 'off'
  /** `multi()` over keys of several shards: refused, or one MULTI per shard (atomic per shard only). @default 'refuse' */
  readonly crossShardMulti?: 'refuse' | 'split'
  /** A lease that is out for longer is reported by a `lease-leak` event with the stack of where it was taken, in ms. 0: off. @default 0 */
  readonly leakWarningMs?: number
  /** Start of every connection's client name: `name:shard:role`. @default 'sharded-sentinel-pool' */
  readonly name?: string
}

/** Announced address to reachable address: a record by `host:port`, or a function (undefined: as announced). */
export type AddressMap = Readonly<Record<string, string | Address>> | ((address: Address) => Address | undefined)

/** The greeting of a connection takes so much room in its queue: it could never be made with less. */
const LEAST_IN_FLIGHT = 8

export const DEFAULTS = Object.freeze({
  pool: Object.freeze({ min: 1, max: 8, acquireTimeoutMs: 5_000, idleTimeoutMs: 30_000, maxWaiting: 10_000 }),
  sharedConnections: 1,
  commandTimeoutMs: 5_000,
  sentinelTimeoutMs: 300,
  connectTimeoutMs: 1_000,
  pollIntervalMs: 10_000,
  heartbeatMs: 5_000,
  holdWritesMs: 2_000,
  connectDeadlineMs: 10_000,
  requireAllShards: true,
  maxInFlight: 100_000,
  retry: 'safe',
  readFrom: 'master',
  placementGuard: 'check',
  crossShardMulti: 'refuse',
  leakWarningMs: 0,
  name: 'sharded-sentinel-pool',
} as const)

const MAX_MS = 2 ** 31 - 1
const SENTINEL_PORT = 26379
const REDIS_PORT = 6379

/** Options after the check: complete, frozen, and without anything secret. */
export interface Settings {
  readonly masters: readonly MasterSettings[]
  readonly sentinels: readonly Address[]
  readonly mapAddress: (address: Address) => Address
  readonly resolver: Resolver | undefined
  readonly pool: Readonly<Required<LeasePoolOptions>>
  readonly sharedConnections: number
  readonly commandTimeoutMs: number
  readonly sentinelTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly pollIntervalMs: number
  readonly heartbeatMs: number
  readonly holdWritesMs: number
  readonly connectDeadlineMs: number
  readonly requireAllShards: boolean
  readonly maxInFlight: number
  readonly retry: 'safe' | 'never' | 'always'
  readonly readFrom: 'master' | 'preferReplica' | 'replica'
  readonly placementGuard: 'check' | 'claim' | 'off'
  readonly crossShardMulti: 'refuse' | 'split'
  readonly leakWarningMs: number
  readonly name: string
}

export interface MasterSettings {
  readonly name: string
  readonly weight: number | undefined
  readonly label: string | undefined
  readonly address: Address | undefined
}

/** Checks and completes the options. @throws InvalidOptionsError that names the option, and the nearest one for a typo. */
export function readOptions(options: unknown): Settings {
  const given = record(options, 'options')
  refuseUnknown(given, '', OPTION_NAMES)
  const masters = readMasters(given.masters)
  const sentinels = readSentinels(given.sentinels)
  const resolver = readResolver(given.resolver)
  checkDiscovery(masters, sentinels, resolver)
  for (const option of ['client', 'sentinelClient'] as const) readClient(given[option], option)
  const pool = readPool(given.pool)
  return Object.freeze({
    masters,
    sentinels,
    resolver,
    mapAddress: readAddressMap(given.addressMap),
    pool,
    sharedConnections: int(given, 'sharedConnections', 1, 64),
    commandTimeoutMs: given.commandTimeoutMs === 0 ? 0 : int(given, 'commandTimeoutMs', 50, MAX_MS),
    sentinelTimeoutMs: int(given, 'sentinelTimeoutMs', 10, 60_000),
    connectTimeoutMs: int(given, 'connectTimeoutMs', 10, 60_000),
    pollIntervalMs: int(given, 'pollIntervalMs', 100, 3_600_000),
    heartbeatMs: int(given, 'heartbeatMs', 100, 3_600_000),
    holdWritesMs: int(given, 'holdWritesMs', 0, 60_000),
    connectDeadlineMs: int(given, 'connectDeadlineMs', 1, MAX_MS),
    requireAllShards: bool(given, 'requireAllShards'),
    maxInFlight: Math.max(LEAST_IN_FLIGHT, int(given, 'maxInFlight', 1, MAX_MS)),
    retry: choice(given, 'retry', ['safe', 'never', 'always']),
    readFrom: choice(given, 'readFrom', ['master', 'preferReplica', 'replica']),
    placementGuard: choice(given, 'placementGuard', ['check', 'claim', 'off']),
    crossShardMulti: choice(given, 'crossShardMulti', ['refuse', 'split']),
    leakWarningMs: int(given, 'leakWarningMs', 0, MAX_MS),
    name: readName(given.name),
  })
}

const OPTION_NAMES = [
  ...Object.keys(DEFAULTS),
  'masters',
  'sentinels',
  'ring',
  'client',
  'sentinelClient',
  'addressMap',
  'resolver',
]

function record(value: unknown, option: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidOptionsError(option, `${option} must be an object`)
  }
  return value as Readonly<Record<string, unknown>>
}

function refuseUnknown(given: Readonly<Record<string, unknown>>, path: string, known: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    throw new InvalidOptionsError(`${path}${name}`, `there is no option '${path}${name}'${suggestion(name, known)}`)
  }
}

type Defaults = Readonly<Record<string, unknown>>

function int(
  given: Defaults,
  name: string,
  min: number,
  max: number,
  path = '',
  defaults: Defaults = DEFAULTS,
): number {
  const value = given[name] === undefined ? defaults[name] : given[name]
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    const unit = name.endsWith('Ms') ? ' of milliseconds' : ''
    const received = typeof value === 'number' ? value : typeof value
    throw new InvalidOptionsError(
      path + name,
      `${path}${name} must be a whole number${unit} from ${min} to ${max}, not ${received}`,
    )
  }
  return value
}

function bool(given: Defaults, name: keyof typeof DEFAULTS): boolean {
  const value = given[name] === undefined ? DEFAULTS[name] : given[name]
  if (typeof value !== 'boolean') throw new InvalidOptionsError(name, `${name} must be true or false`)
  return value
}

function choice<T extends string>(given: Defaults, name: keyof typeof DEFAULTS, choices: readonly T[]): T {
  const value = given[name] === undefined ? DEFAULTS[name] : given[name]
  const found = choices.find((c) => c === value)
  if (found !== undefined) return found
  const hint = typeof value === 'string' ? suggestion(value, choices) : ''
  throw new InvalidOptionsError(name, `${name} must be one of ${choices.map((c) => `'${c}'`).join(', ')}${hint}`)
}

function readName(value: unknown): string {
  if (value === undefined) return DEFAULTS.name
  // What CLIENT SETNAME accepts: printable ASCII without spaces.
  if (typeof value !== 'string' || !/^[!-~]+$/.test(value)) {
    throw new InvalidOptionsError('name', 'name must be printable ASCII without spaces')
  }
  return value
}

function readMasters(value: unknown): readonly MasterSettings[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidOptionsError('masters', 'masters must be a list of at least one master name')
  }
  const seen = new Set<string>()
  return value.map((entry: unknown, i) => {
    const path = `masters[${i}]`
    const given = typeof entry === 'string' ? { name: entry } : record(entry, path)
    refuseUnknown(given, `${path}.`, ['name', 'weight', 'label', 'host', 'port'])
    const { name, weight, label, host, port } = given as Partial<MasterOptions>
    if (typeof name !== 'string' || name.trim() === '' || /\s/.test(name)) {
      throw new InvalidOptionsError(`${path}.name`, `${path}.name must be a master name without spaces`)
    }
    if (seen.has(name)) throw new InvalidOptionsError(`${path}.name`, `the master '${name}' is listed twice`)
    seen.add(name)
    const address = readStaticAddress(path, host, port)
    return Object.freeze({ name, weight, label, address })
  })
}

function readStaticAddress(path: string, host: unknown, port: unknown): Address | undefined {
  if (host === undefined && port === undefined) return undefined
  if (typeof host !== 'string' || parseAddress(host, REDIS_PORT)?.host !== host) {
    throw new InvalidOptionsError(`${path}.host`, `${path}.host must be a host name or an address without a port`)
  }
  if (port !== undefined && !isPort(port)) {
    throw new InvalidOptionsError(`${path}.port`, `${path}.port must be a whole number from 1 to 65535`)
  }
  return { host, port: port ?? REDIS_PORT }
}

function readSentinels(value: unknown): readonly Address[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length === 0) {
    throw new InvalidOptionsError('sentinels', 'sentinels must list at least one address')
  }
  const byKey = new Map<string, Address>()
  for (const [i, entry] of value.entries() as IterableIterator<[number, unknown]>) {
    const address = readAddress(entry, `sentinels[${i}]`, SENTINEL_PORT)
    byKey.set(addressKey(address), address)
  }
  return [...byKey.values()]
}

function readAddress(value: unknown, path: string, defaultPort: number): Address {
  if (typeof value === 'string') {
    const address = parseAddress(value, defaultPort)
    if (address !== undefined) return address
    throw new InvalidOptionsError(path, `${path} must be 'host:port'; an IPv6 address goes in brackets: '[::1]:26379'`)
  }
  const { host, port = defaultPort } = record(value, path)
  if (typeof host !== 'string' || host.trim() === '') {
    throw new InvalidOptionsError(`${path}.host`, `${path}.host must be a host name or address`)
  }
  if (!isPort(port))
    throw new InvalidOptionsError(`${path}.port`, `${path}.port must be a whole number from 1 to 65535`)
  return { host, port }
}

function readResolver(value: unknown): Resolver | undefined {
  if (value === undefined) return undefined
  const resolver = record(value, 'resolver')
  if (typeof resolver.resolve !== 'function') {
    throw new InvalidOptionsError('resolver', 'resolver must have a method resolve(masterName, { signal })')
  }
  return value as Resolver
}

function checkDiscovery(
  masters: readonly MasterSettings[],
  sentinels: readonly Address[],
  resolver: Resolver | undefined,
): void {
  const fixed = masters.filter((m) => m.address !== undefined).length
  const ways = [sentinels.length > 0, resolver !== undefined, fixed > 0].filter(Boolean).length
  if (ways > 1) {
    throw new InvalidOptionsError('sentinels', 'give one of sentinels, resolver, or masters with host and port')
  }
  if (ways === 0) {
    throw new InvalidOptionsError('sentinels', 'sentinels is missing (or resolver, or masters with host and port)')
  }
  if (fixed > 0 && fixed < masters.length) {
    throw new InvalidOptionsError('masters', 'either every master has a host or none has')
  }
}

function readPool(value: unknown): Readonly<Required<LeasePoolOptions>> {
  const given = value === undefined ? {} : record(value, 'pool')
  refuseUnknown(given, 'pool.', Object.keys(DEFAULTS.pool))
  const read = (name: keyof LeasePoolOptions, min: number, max: number) =>
    int(given, name, min, max, 'pool.', DEFAULTS.pool)
  const max = read('max', 1, 10_000)
  const fallback = given.min === undefined ? { ...given, min: Math.min(DEFAULTS.pool.min, max) } : given
  return Object.freeze({
    max,
    min: int(fallback, 'min', 0, max, 'pool.', DEFAULTS.pool),
    acquireTimeoutMs: read('acquireTimeoutMs', 1, MAX_MS),
    idleTimeoutMs: read('idleTimeoutMs', 1, MAX_MS),
    maxWaiting: read('maxWaiting', 1, MAX_MS),
  })
}

/** What a pool decides itself, or cannot keep its promises with. */
const REFUSED_CLIENT_OPTIONS: Readonly<Record<string, string>> = {
  url: 'the sentinels name the servers; give username, password, database and socket.tls instead',
  disableOfflineQueue: 'the pool has its own bounded waiting',
  commandsQueueMaxLength: 'use maxInFlight',
  readonly: 'use readFrom',
  clientSideCache: 'a cache would outlive the master it was read from',
  emitInvalidate: 'connections are shared',
  maintNotifications: 'they belong to Redis Enterprise, not to Sentinel',
}

function readClient(value: unknown, option: string): void {
  if (value === undefined) return
  const given = record(value, option)
  for (const [name, why] of Object.entries(REFUSED_CLIENT_OPTIONS)) {
    if (given[name] !== undefined) throw new InvalidOptionsError(`${option}.${name}`, `${option}.${name}: ${why}`)
  }
  const socket = given.socket === undefined ? {} : record(given.socket, `${option}.socket`)
  for (const name of ['host', 'port', 'path', 'reconnectStrategy']) {
    if (socket[name] !== undefined) {
      throw new InvalidOptionsError(`${option}.socket.${name}`, `${option}.socket.${name} is decided by the pool`)
    }
  }
}

function readAddressMap(value: unknown): (address: Address) => Address {
  if (value === undefined) return (address) => address
  if (typeof value === 'function') {
    return (address) => (value as (a: Address) => Address | undefined)(address) ?? address
  }
  const map = new Map<string, Address>()
  for (const [from, to] of Object.entries(record(value, 'addressMap'))) {
    const path = `addressMap['${from}']`
    map.set(addressKey(readAddress(from, path, REDIS_PORT)), readAddress(to, path, REDIS_PORT))
  }
  return (address) => map.get(addressKey(address)) ?? address
}
