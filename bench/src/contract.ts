/** Where the servers of one run are; sent to every worker. */
export interface Servers {
  readonly masters: readonly { readonly name: string; readonly host: string; readonly port: number }[]
  /** Empty where there are none: the pool then gets its masters' addresses. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
}

/** One way to reach the shards. A method that is absent means: this one is not measured in that. */
export interface Contender {
  /** Routed by the key's shard, the reply as a string. */
  get(key: string): Promise<unknown>
  /** The same on a connection of its own. */
  getApart?(key: string): Promise<unknown>
  set?(key: string, value: string | Buffer): Promise<unknown>
  /** The reply as a Buffer. */
  getBytes?(key: string): Promise<unknown>
  /** Keys of several shards, answers in the order of the keys. */
  mGet?(keys: readonly string[]): Promise<readonly unknown[]>
  /** One GET per key, keys of several shards, sent shard by shard; answers in the order of the keys. */
  pipeline?(keys: readonly string[]): Promise<readonly unknown[]>
  /** WATCH, GET, MULTI, SET, EXEC on a connection of its own. */
  transaction?(key: string): Promise<unknown>
  close(): Promise<void> | void
}

/** `options` are from `<name>?sharedConnections=2` in the name of a contender. */
export type Connect = (servers: Servers, options: URLSearchParams) => Promise<Contender>

/** What a worker is asked to do. */
export interface Task {
  readonly workload: string
  readonly inFlight: number
  readonly ms: number
  /** Characters of a value. */
  readonly size: number
  /** Collect garbage at the end, off the clock, so that `heap` means something. */
  readonly collect?: boolean
}

/** What it measured. */
export interface Sample {
  /** Operations per second of the wall clock. */
  readonly rate: number
  /** Microseconds of CPU (user and system, all threads of this process) per operation. */
  readonly cpu: number
  /** The least of that in any slice of a round: what other programs have disturbed least. */
  readonly least: number
  /** Milliseconds; of every eighth operation. */
  readonly p50: number
  readonly p99: number
  /** Bytes of the heap, after a collection where the task asked for one. */
  readonly heap: number
}
