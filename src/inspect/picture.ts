import type { Address } from '../address.js'
import type { RingPicture } from '../ring/index.js'

/**
 * What a topology looks like from this machine at one moment: plain data, nothing judged. Made by `inspectTopology`, judged
 * by `diagnose`. What an ACL hides, or an older server does not tell, is undefined.
 */
export interface TopologyPicture {
  /** When the inspection began, in ms since 1970 by this machine's clock. */
  readonly takenAt: number
  readonly tookMs: number
  /** Every distinct sentinel: the seeds, then those that the seeds told of. Empty for a pool without sentinels. */
  readonly sentinels: readonly SentinelReport[]
  /** In the order of `masters`. */
  readonly shards: readonly ShardReport[]
  readonly ring: RingPicture
}

/** What every inspected server has. */
export interface ServerReport {
  /** Where it was asked, after `addressMap`. */
  readonly address: Address
  /** As it is announced, where `addressMap` changed that. */
  readonly announced: Address
  /** Why it could not be asked: the system's code (`ECONNREFUSED`), `timeout`, or the reply (`NOAUTH …`). */
  readonly error: string | undefined
  /** Round trip of a PING, in ms. */
  readonly latencyMs: number | undefined
  readonly version: string | undefined
  /** What this user's ACL refused, as in `ROLE` or `SENTINEL MASTER`. */
  readonly denied: readonly string[]
}

/** One sentinel, as it was asked. */
export interface SentinelReport extends ServerReport {
  readonly seed: boolean
  readonly runId: string | undefined
  /** In TILT it neither detects nor fails over: its clock jumped or it stood still. */
  readonly tilt: boolean | undefined
  /** One per master name, in the order of `masters`; empty when it could not be asked. */
  readonly beliefs: readonly MasterBelief[]
}

/** What one sentinel believes of one master. */
export interface MasterBelief {
  readonly masterName: string
  /** Where it says the master is, after `addressMap`; null when it knows no such name; undefined when it does not say. */
  readonly address: Address | null | undefined
  readonly announced: Address | undefined
  readonly configEpoch: number | undefined
  /** Such as `master`, `s_down`, `o_down`, `failover_in_progress`. */
  readonly flags: readonly string[]
  readonly quorum: number | undefined
  readonly downAfterMs: number | undefined
  readonly failoverTimeoutMs: number | undefined
  /** What SENTINEL CKQUORUM says: `OK 3 usable Sentinels …` or `NOQUORUM …`. */
  readonly quorumCheck: string | undefined
  /** The other sentinels it knows for this master. */
  readonly peers: readonly PeerReport[] | undefined
  readonly replicas: readonly ReplicaBelief[] | undefined
}

/** Another sentinel, as one sentinel knows it. */
export interface PeerReport {
  readonly address: Address
  readonly runId: string | undefined
  readonly flags: readonly string[]
}

/** A replica, as one sentinel knows it. */
export interface ReplicaBelief {
  readonly address: Address
  readonly flags: readonly string[]
  /** 0: never to be promoted. */
  readonly priority: number | undefined
}

/** One shard: its master, and everybody else who belongs to it. */
export interface ShardReport {
  readonly name: string
  readonly label: string
  readonly weight: number
  /** Part of the hash space, 0 to 1; undefined for a ring that is a function. */
  readonly share: number | undefined
  /** The node that the latest configuration names (most votes where epochs are equal or hidden); undefined when nobody names one. */
  readonly master: NodeReport | undefined
  /** Everybody else that was ever named: replicas, and masters of dissenting sentinels. */
  readonly others: readonly NodeReport[]
  /** What the master should hold as its placement claim. */
  readonly expectedClaim: string
}

/** One data node. */
export interface NodeReport extends ServerReport {
  /** The sentinels that name it as the master. */
  readonly namedMasterBy: readonly Address[]
  /** Of `ROLE`, or of `INFO replication` where ROLE is denied. */
  readonly role: 'master' | 'slave' | 'sentinel' | undefined
  /** LOADING, MASTERDOWN or BUSY in place of service. */
  readonly notYet: string | undefined
  /** Of a replica: the master it follows, after `addressMap`, and the state of that link (`connected` is good). */
  readonly follows: Address | undefined
  readonly link: string | undefined
  /** Replication offset: of a master what it wrote, of a replica what it received. */
  readonly offset: number | undefined
  /** Of a replica: seconds since it last heard of its master; bytes it is behind the master of this picture. */
  readonly silentSeconds: number | undefined
  readonly lagBytes: number | undefined
  /** Of a master: the replicas connected to it now, and those of them fresh enough for `min-replicas-to-write`. */
  readonly connectedReplicas: number | undefined
  readonly minReplicasToWrite: number | undefined
  readonly minReplicasMaxLagSeconds: number | undefined
  /** 0: Sentinel never promotes it. */
  readonly priority: number | undefined
  /** Its clock minus this machine's, in ms, as good as the round trip allows. */
  readonly clockSkewMs: number | undefined
  readonly keys: number | undefined
  readonly opsPerSecond: number | undefined
  /** The placement claim; null when there is none. */
  readonly claim: string | null | undefined
}
