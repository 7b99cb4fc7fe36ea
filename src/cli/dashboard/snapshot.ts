import {
  diagnose,
  formatAddress,
  type PoolStats,
  type RingPicture,
  type ShardStats,
  type TopologyPicture,
} from '../../index.js'
import { bytes } from '../text.js'

/** What the page shows of one moment. Plain JSON. */
export interface Snapshot {
  /** ms since 1970. */
  readonly at: number
  readonly shards: readonly ShardSnapshot[]
  readonly sentinels: readonly { readonly address: string; readonly good: boolean; readonly text: string }[]
  /** What doctor finds, the worst first; undefined while nobody has looked. */
  readonly findings:
    | readonly { readonly severity: string; readonly subject: string; readonly cause: string }[]
    | undefined
}

export interface ShardSnapshot {
  readonly name: string
  readonly state: string
  readonly ready: boolean
  readonly address: string | undefined
  readonly epoch: number | undefined
  readonly share: number | undefined
  /** Commands per second at the master, by all clients; undefined where INFO is denied or nobody has looked. */
  readonly opsPerSecond: number | undefined
  /** Calls per second of this pool. */
  readonly callsPerSecond: number
  readonly p99Ms: number | undefined
  readonly waiting: number
  readonly inFlight: number
  readonly failovers: number
  readonly replicas: readonly { readonly address: string; readonly good: boolean; readonly text: string }[]
}

/** @param seconds between `before` and `now` */
export function snapshotOf(
  at: number,
  now: PoolStats,
  before: PoolStats | undefined,
  seconds: number,
  ring: RingPicture,
  picture: TopologyPicture | undefined,
): Snapshot {
  return {
    at,
    shards: now.shards.map((shard, i) =>
      shardSnapshot(shard, before?.shards[i], seconds, ring.shards[i]?.share, picture),
    ),
    sentinels: sentinels(now, picture),
    findings: picture && diagnose(picture).filter(({ severity }) => severity !== 'notice'),
  }
}

function shardSnapshot(
  shard: ShardStats,
  before: ShardStats | undefined,
  seconds: number,
  share: number | undefined,
  picture: TopologyPicture | undefined,
): ShardSnapshot {
  const seen = picture?.shards.find(({ name }) => name === shard.name)
  const calls = before === undefined || seconds <= 0 ? 0 : Math.max(0, shard.calls - before.calls) / seconds
  return {
    name: shard.name,
    state: shard.state,
    ready: shard.address !== undefined && (shard.state === 'ready' || shard.state === 'holding'),
    address: shard.address && formatAddress(shard.address),
    epoch: epochOf(shard, picture),
    share,
    opsPerSecond: seen?.master?.opsPerSecond,
    callsPerSecond: calls,
    p99Ms: shard.roundTrip?.p99Ms,
    waiting: shard.waiting,
    inFlight: shard.inFlight,
    failovers: shard.failovers,
    replicas: (seen?.others ?? []).map(({ address, error, role, link, lagBytes }) => ({
      address: formatAddress(address),
      good: error === undefined && role === 'slave' && link === 'connected',
      text: error ?? (role === 'slave' ? (link === 'connected' ? lagText(lagBytes) : `link ${link}`) : `says ${role}`),
    })),
  }
}

/** The pool learns the epoch of a master it followed through its promotion only later; sentinels know it. */
function epochOf({ name, configEpoch }: ShardStats, picture: TopologyPicture | undefined): number | undefined {
  const told = (picture?.sentinels ?? []).flatMap(({ beliefs }) =>
    beliefs.flatMap((belief) => (belief.masterName === name ? (belief.configEpoch ?? []) : [])),
  )
  return configEpoch ?? (told.length > 0 ? Math.max(...told) : undefined)
}

function lagText(lagBytes: number | undefined): string {
  return lagBytes === undefined ? 'lag unknown' : `+${bytes(lagBytes)}`
}

function sentinels(now: PoolStats, picture: TopologyPicture | undefined): Snapshot['sentinels'] {
  const heard = new Set(now.sentinels.filter((one) => one.subscribed).map(({ address }) => formatAddress(address)))
  const known = picture?.sentinels.map(({ address }) => address) ?? now.sentinels.map(({ address }) => address)
  return known.map((one, i) => {
    const address = formatAddress(one)
    const report = picture?.sentinels[i]
    const good = heard.has(address) && report?.error === undefined && report?.tilt !== true
    const text = report?.error ?? (report?.tilt ? 'in TILT' : heard.has(address) ? 'heard' : 'not heard')
    return { address, good, text }
  })
}
