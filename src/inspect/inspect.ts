import { type Address, addressKey, sameAddress } from '../address.js'
import { type PoolOptions, readOptions, type Settings } from '../options.js'
import { claimOf } from '../placement-guard.js'
import { type ClientOptions, ConnectionFactory } from '../redis-client.js'
import { createRing } from '../ring/index.js'
import { inspectNode } from './inspect-node.js'
import { inspectSentinel } from './inspect-sentinel.js'
import type { NodeReport, SentinelReport, ShardReport, TopologyPicture } from './picture.js'
import { nodesOf, withLag } from './shard-nodes.js'

/** What the constructor of a pool takes, whatever the modules, scripts and RESP version of its `client`. */
export interface TopologyOptions extends Omit<PoolOptions, 'client'> {
  /** node-redis client options for data nodes: credentials, TLS and database are what an inspection uses. */
  readonly client?: object | undefined
}

/** Bounds of an inspection. */
export interface InspectOptions {
  /** Bound on connecting to one server and asking it, in ms; a whole inspection takes up to three times this. @default 2000 */
  readonly timeoutMs?: number | undefined
  /** Aborting rejects with the signal's reason and leaves no socket. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Asks every sentinel and every data node of a pool's topology what it is and what it believes, as the pool itself would
 * reach them: same credentials, TLS, `addressMap`. Opens no pool, changes nothing, leaves no socket. A server that cannot
 * be asked is part of the answer; the promise rejects for wrong options and on abort only.
 *
 * @param options what the constructor of the pool takes
 * @example
 * const findings = diagnose(await inspectTopology(options))
 * @throws InvalidOptionsError
 */
export async function inspectTopology(
  options: TopologyOptions,
  { timeoutMs = 2_000, signal }: InspectOptions = {},
): Promise<TopologyPicture> {
  const settings = readOptions(options)
  const names = settings.masters.map(({ name, weight, label }) => ({ name, weight, label }))
  const ring = createRing({ shards: names, ring: options.ring ?? { preset: 'murmur3' } })
  const takenAt = Date.now()
  const since = performance.now()
  const asking = { timeoutMs, signal, name: `${settings.name}:inspect` }
  const sentinels = await allSentinels(settings, { RESP: 2, ...options.sentinelClient }, asking)
  const fixed = await namedElsewhere(settings, asking)
  const factory = new ConnectionFactory(options.client as ClientOptions | undefined)
  const picture = ring.describe()
  const shards = await Promise.all(
    settings.masters.map(async ({ name }, index): Promise<ShardReport> => {
      const named = nodesOf(name, sentinels, fixed.get(name), settings.mapAddress)
      const ask = (node: (typeof named)['nodes'][number]) =>
        inspectNode({ ...asking, ...node, factory, mapAddress: settings.mapAddress })
      const nodes = withLag(await Promise.all(named.nodes.map(ask)), named.master)
      const shard = picture.shards[index]!
      const isMaster = (node: NodeReport) => named.master !== undefined && sameAddress(node.address, named.master)
      return {
        name,
        label: shard.label,
        weight: shard.weight,
        share: shard.share,
        master: nodes.find(isMaster),
        others: nodes.filter((node) => !isMaster(node)),
        expectedClaim: claimOf(ring, index),
      }
    }),
  )
  return { takenAt, tookMs: performance.now() - since, sentinels, shards, ring: picture }
}

interface Asking {
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly name: string
}

/** The seeds, and then those they know that are none of the seeds by run id or address. */
async function allSentinels(
  settings: Settings,
  client: ClientOptions,
  asking: Asking,
): Promise<readonly SentinelReport[]> {
  const { mapAddress } = settings
  const factory = new ConnectionFactory(client)
  const masterNames = settings.masters.map(({ name }) => name)
  const common = { ...asking, factory, masterNames, mapAddress }
  const seeds = await Promise.all(
    settings.sentinels.map((address) => inspectSentinel({ ...common, address, announced: address, seed: true })),
  )
  const runIds = new Set(seeds.map((seed) => seed.runId))
  const found = new Map<string, Address>()
  for (const { beliefs } of seeds) {
    for (const peer of beliefs.flatMap((belief) => belief.peers ?? [])) {
      const known = seeds.some(({ address }) => sameAddress(address, mapAddress(peer.address)))
      if (!known && (peer.runId === undefined || !runIds.has(peer.runId)))
        found.set(addressKey(peer.address), peer.address)
    }
  }
  const peers = await Promise.all(
    [...found.values()].map((announced) =>
      inspectSentinel({ ...common, address: mapAddress(announced), announced, seed: false }),
    ),
  )
  return distinct([...seeds, ...peers])
}

/** One report per run id: a sentinel may be listed by name and by address. */
function distinct(reports: readonly SentinelReport[]): readonly SentinelReport[] {
  const seen = new Set<string>()
  return reports.filter(({ runId }) => {
    if (runId === undefined) return true
    if (seen.has(runId)) return false
    seen.add(runId)
    return true
  })
}

/** Of a pool without sentinels: where its options, or its resolver, say that the masters are. */
async function namedElsewhere(settings: Settings, asking: Asking): Promise<ReadonlyMap<string, Address>> {
  const { masters, resolver } = settings
  const found = new Map<string, Address>()
  const signal = AbortSignal.any([AbortSignal.timeout(asking.timeoutMs), ...(asking.signal ? [asking.signal] : [])])
  await Promise.all(
    masters.map(async ({ name, address }) => {
      if (address !== undefined) found.set(name, address)
      if (resolver === undefined) return
      const answer = await Promise.resolve(resolver.resolve(name, { signal })).catch(() => undefined)
      if (answer) found.set(name, 'address' in answer ? answer.address : answer)
    }),
  )
  asking.signal?.throwIfAborted()
  return found
}
