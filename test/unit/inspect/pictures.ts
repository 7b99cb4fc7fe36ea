import type { Address } from '../../../src/address.js'
import type { MasterBelief, NodeReport, SentinelReport, ShardReport, TopologyPicture } from '../../../src/index.js'

/** Changeable all the way down, for tests that spoil one thing. */
type Loose<T> = T extends Address
  ? T
  : T extends readonly (infer E)[]
    ? Loose<E>[]
    : T extends object
      ? { -readonly [K in keyof T]: Loose<T[K]> }
      : T
export type LoosePicture = Loose<Omit<TopologyPicture, 'ring'>> & Pick<TopologyPicture, 'ring'>

const address = (port: number): Address => ({ host: '10.0.0.1', port })

export function node(port: number, more: Partial<NodeReport> = {}): NodeReport {
  return {
    address: address(port),
    announced: address(port),
    error: undefined,
    latencyMs: 1,
    version: '7.0.15',
    denied: [],
    namedMasterBy: [],
    role: 'slave',
    notYet: undefined,
    follows: undefined,
    link: 'connected',
    offset: 100,
    silentSeconds: 0,
    lagBytes: 0,
    connectedReplicas: undefined,
    minReplicasToWrite: 1,
    minReplicasMaxLagSeconds: 10,
    priority: 100,
    clockSkewMs: 1,
    keys: 10,
    opsPerSecond: 1,
    claim: 'ring # cache-a',
    ...more,
  }
}

export function belief(masterName: string, port: number, more: Partial<MasterBelief> = {}): MasterBelief {
  return {
    masterName,
    address: address(port),
    announced: address(port),
    configEpoch: 3,
    flags: ['master'],
    quorum: 2,
    downAfterMs: 5_000,
    failoverTimeoutMs: 60_000,
    quorumCheck: 'OK 3 usable Sentinels. Quorum and failover authorization can be reached',
    peers: [],
    replicas: [{ address: address(port + 1), flags: ['slave'], priority: 100 }],
    ...more,
  }
}

function sentinel(i: number, beliefs: readonly MasterBelief[]): SentinelReport {
  return {
    address: address(26379 + i),
    announced: address(26379 + i),
    error: undefined,
    latencyMs: 1,
    version: '7.0.15',
    denied: [],
    seed: true,
    runId: `id${i}`,
    tilt: false,
    beliefs,
  }
}

function shard(name: string, port: number): ShardReport {
  return {
    name,
    label: name,
    weight: 1,
    share: 0.5,
    master: node(port, { role: 'master', link: undefined, claim: `ring # ${name}` }),
    others: [node(port + 1, { follows: address(port) })],
    expectedClaim: `ring # ${name}`,
  }
}

/** Two shards, three sentinels, nothing wrong. Anew at each call, so that a test may spoil it. */
export function healthy(): LoosePicture {
  const sentinels = [0, 1, 2].map((i) => {
    const peers = [0, 1, 2]
      .filter((j) => j !== i)
      .map((j) => ({ address: address(26379 + j), runId: `id${j}`, flags: ['sentinel'] }))
    return sentinel(i, [belief('cache-a', 7001, { peers }), belief('cache-b', 7003, { peers })])
  })
  const shards = [shard('cache-a', 7001), shard('cache-b', 7003)]
  const ring = { preset: 'murmur3', shards: [], points: 0, shares: 'hash-space' as const, fingerprint: 'ring' }
  return structuredClone({ takenAt: 0, tookMs: 1, sentinels, shards, ring }) as unknown as LoosePicture
}

/** A node that may be pushed into such a picture. */
export function looseNode(port: number, more: Partial<NodeReport>): LoosePicture['shards'][number]['others'][number] {
  return structuredClone(node(port, more)) as unknown as LoosePicture['shards'][number]['others'][number]
}
