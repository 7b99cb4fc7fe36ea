import { isIP } from 'node:net'
import { InvalidOptionsError } from '../errors.js'

/** Extra lines of a configuration file: directive -> its value, or one value per line it stands in. */
export type ConfigLines = Readonly<Record<string, string | number | readonly string[]>>

/** A user and its password. */
export interface Login {
  readonly username: string
  readonly password: string
}

/** Which servers speak TLS, and with what certificate. */
export interface TlsOptions {
  /** Data nodes speak TLS only, replication included. @default false */
  readonly data?: boolean
  /** Sentinels speak TLS only, to clients. @default false */
  readonly sentinels?: boolean
  /** Names and IPs the certificate is good for. Others make clients fail. @default ['localhost', '127.0.0.1', '::1'] */
  readonly names?: readonly string[]
  /** Servers ask clients for a certificate: `topology.tls.cert` and `.key` are one. @default false */
  readonly clientCertificates?: boolean
}

/** What `LocalTopology.start` takes. */
export interface LocalTopologyOptions {
  /** Number of shards, 1–20, named `shard-0`, `shard-1`, …; or their names. @default 1 */
  readonly shards?: number | readonly string[]
  /** Replicas of each master, 0–10. @default 1 */
  readonly replicas?: number
  /** Number of sentinels, 0–9; with 0 there are just masters and replicas. @default 3 */
  readonly sentinels?: number
  /** Sentinels that must agree that a master is down. @default the majority */
  readonly quorum?: number
  /** Silence after which a sentinel holds a node to be down, in ms, at least 100. @default 1000 */
  readonly downAfterMs?: number
  /** Sentinel's `failover-timeout`, in ms, at least 1000: twice this passes between two tries. @default 5000 */
  readonly failoverTimeoutMs?: number
  /** Loopback address all servers listen on: `'127.0.0.1'` or `'::1'`. @default '127.0.0.1' */
  readonly host?: string
  /** A name of `host` that servers and sentinels announce in place of the IP, such as `'localhost'`. @default none */
  readonly hostname?: string
  /** The `redis-server` to run. @default the environment variable REDIS_SERVER, else the first on PATH */
  readonly redisServer?: string
  /** `requirepass` of the data nodes. @default none */
  readonly password?: string
  /** Users of the data nodes, each as after `user` in redis.conf: `'app on >secret ~* +@all'`. @default none */
  readonly acl?: readonly string[]
  /** The user of `acl` that sentinels use on data nodes. @default a user of the topology's own that may do all */
  readonly sentinelLogin?: Login
  /** `requirepass` of the sentinels. @default none */
  readonly sentinelPassword?: string
  /** Users of the sentinels, like `acl`. @default none */
  readonly sentinelAcl?: readonly string[]
  /** Certificates are made on the spot with `openssl`. @default no TLS */
  readonly tls?: TlsOptions
  /** More lines for redis.conf: `{ maxclients: 50 }`. They win over the topology's own. @default none */
  readonly dataConfig?: ConfigLines
  /** More lines for sentinel.conf, put before the monitored masters: `{ 'sentinel resolve-hostnames': 'yes' }`. */
  readonly sentinelConfig?: ConfigLines
  /** Put a TCP proxy before every node of that kind from the start; `topology.proxy(node)` does it for one. */
  readonly proxy?: { readonly data?: boolean; readonly sentinels?: boolean }
  /**
   * Keep sentinels at the quick periods they are settled with, so that they see changes sooner than stock ones. Not for
   * failovers: such sentinels may give one up after the promotion and make the promoted node a replica again, and what it took
   * by then is lost. @default false
   */
  readonly fast?: boolean
  /** Bound of `start`, in ms. @default 30000 */
  readonly startTimeoutMs?: number
  /** Ends `start` early: what was started is ended, and `start` rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The options with every default filled in. */
export type TopologySettings = Readonly<
  Required<Omit<LocalTopologyOptions, OptionalNames | 'shards' | 'tls' | 'proxy'>> & {
    names: readonly string[]
    tls: Required<TlsOptions>
    proxy: { data: boolean; sentinels: boolean }
  } & Pick<LocalTopologyOptions, OptionalNames>
>

type OptionalNames = 'hostname' | 'redisServer' | 'password' | 'sentinelLogin' | 'sentinelPassword' | 'signal'

/** Checks the options and fills in the defaults. Throws `InvalidOptionsError` naming the option. */
export function readTopologyOptions(options: LocalTopologyOptions = {}): TopologySettings {
  const { tls, proxy, shards, ...rest } = options
  const names = readNames(shards ?? 1)
  const sentinels = integer('sentinels', options.sentinels, 3, 0, 9)
  const host = options.host ?? '127.0.0.1'
  if (isIP(host) === 0) throw new InvalidOptionsError('host', `host must be an IP address, not '${host}'`)
  return {
    ...rest,
    acl: options.acl ?? [],
    sentinelAcl: options.sentinelAcl ?? [],
    dataConfig: options.dataConfig ?? {},
    sentinelConfig: options.sentinelConfig ?? {},
    fast: options.fast ?? false,
    names,
    host,
    sentinels,
    replicas: integer('replicas', options.replicas, 1, 0, 10),
    quorum: integer('quorum', options.quorum, Math.floor(sentinels / 2) + 1, 1, 9),
    downAfterMs: integer('downAfterMs', options.downAfterMs, 1_000, 100, 3_600_000),
    failoverTimeoutMs: integer('failoverTimeoutMs', options.failoverTimeoutMs, 5_000, 1_000, 3_600_000),
    startTimeoutMs: integer('startTimeoutMs', options.startTimeoutMs, 30_000, 1, 3_600_000),
    tls: {
      data: tls?.data ?? false,
      sentinels: tls?.sentinels ?? false,
      names: tls?.names ?? ['localhost', '127.0.0.1', '::1'],
      clientCertificates: tls?.clientCertificates ?? false,
    },
    proxy: { data: proxy?.data ?? false, sentinels: proxy?.sentinels ?? false },
  }
}

function readNames(shards: number | readonly string[]): readonly string[] {
  if (typeof shards === 'number') {
    return Array.from({ length: integer('shards', shards, 1, 1, 20) }, (_, i) => `shard-${i}`)
  }
  if (shards.length < 1 || shards.length > 20) throw new InvalidOptionsError('shards', 'shards must be 1 to 20 names')
  if (new Set(shards).size !== shards.length) throw new InvalidOptionsError('shards', 'shard names must differ')
  // Sentinel itself takes only these characters.
  const wrong = shards.find((name) => !/^[\w.-]+$/.test(name))
  if (wrong !== undefined) throw new InvalidOptionsError('shards', `'${wrong}' is no master name: use A-z 0-9 . - _`)
  return [...shards]
}

function integer(option: string, value: number | undefined, preset: number, min: number, max: number): number {
  const number = value ?? preset
  if (Number.isInteger(number) && number >= min && number <= max) return number
  throw new InvalidOptionsError(option, `${option} must be a whole number from ${min} to ${max}, not ${number}`)
}
