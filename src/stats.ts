import type { Address } from './address.js'
import type { AcquirePicture } from './errors.js'
import type { ShardState } from './events.js'

/** Round trips to a shard's master, as fences measure them four times a second under traffic; else once a heartbeat. */
export interface RoundTripStats {
  /** Measured since the pool's birth. The other fields are of the last 256 at most. */
  readonly samples: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** One shard's figures at one moment: plain data, no I/O. Counters run from the pool's birth. */
export interface ShardStats {
  readonly name: string
  readonly state: ShardState
  /** Where the verified master listens; undefined before the first one. */
  readonly address: Address | undefined
  /** Grows by one whenever the shard's connections are made anew. */
  readonly generation: number
  readonly configEpoch: number | undefined
  /** Calls handed to the shard. */
  readonly calls: number
  /** Calls that have not ended yet: in flight or waiting. */
  readonly inFlight: number
  /** Calls that wait for the shard to have a master. */
  readonly waiting: number
  /** Calls that ended in an error of this library (not a server's reply to the caller). */
  readonly errors: number
  /** Calls that were sent again (R10). */
  readonly repeats: number
  readonly failovers: number
  readonly reconnects: number
  /** Runs that looked for the master, for whatever reason. */
  readonly rebuilds: number
  /** How long the master takes to answer; undefined before the first sample. Costs ordinary commands nothing. */
  readonly roundTrip: RoundTripStats | undefined
  readonly leases: AcquirePicture
  /** Open sockets to data nodes: shared, exclusive, and to replicas. */
  readonly sockets: number
  /** The replicas that reads go to now; empty until a read asked for one (`readFrom`). */
  readonly replicas: readonly Address[]
}

/** One sentinel the pool knows, and whether it is heard right now. */
export interface SentinelStats {
  readonly address: Address
  readonly subscribed: boolean
  readonly seed: boolean
}

/** The figures of a pool at one moment. */
export interface PoolStats {
  readonly shards: readonly ShardStats[]
  readonly sentinels: readonly SentinelStats[]
}
