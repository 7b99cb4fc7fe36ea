import type { Address } from '../address.js'
import { InvalidOptionsError } from '../errors.js'
import {
  type FailoverOptions,
  type FailoverReport,
  findMaster,
  findSwitched,
  promoteReplica,
  type Wait,
  type WaitOptions,
} from './failover.js'
import { Proxies } from './proxies.js'
import { SentinelGroup } from './sentinel-group.js'
import { ServerFarm } from './server-farm.js'
import type { ShardHandle } from './shard-handle.js'
import { parseSwitch, type SwitchMessage } from './switch-message.js'
import type { TcpProxy } from './tcp-proxy.js'
import { TopologyError } from './topology-error.js'
import type { TopologyNode } from './topology-node.js'
import { type LocalTopologyOptions, readTopologyOptions, type TopologySettings } from './topology-options.js'
import { waitUntil } from './wait.js'

export interface SettleOptions extends WaitOptions {
  /** Let sentinels look and tell more often than stock ones do while this waits (Redis 7). @default false */
  readonly hurry?: boolean
}

/**
 * Real `redis-server` processes on free loopback ports in a temporary folder: shards of a master and its replicas, and
 * sentinels that watch them. For tests, demos and benchmarks.
 *
 * ```ts
 * await using topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
 * const pool = new ShardedSentinelPool({ masters: topology.masters, sentinels: topology.sentinels })
 * await topology.killMaster('cache-a')
 * ```
 *
 * Sentinels behave as stock ones once `start` has resolved: only until then they are told to look more often. Everything is
 * ended and removed by `close`, else when this process exits or is killed, in whatever way. Every wait is bounded and throws
 * `TopologyError` with the last state seen and the servers' logs.
 */
export class LocalTopology implements AsyncDisposable {
  readonly #settings: TopologySettings
  readonly #farm: ServerFarm
  readonly #proxies: Proxies
  readonly #group: SentinelGroup
  readonly #abort = new AbortController()
  readonly #wait: Wait = (what, timeoutMs, probe, intervalMs = 20) => {
    const evidence = () => this.#farm.evidence()
    return waitUntil({ what, timeoutMs, intervalMs, evidence, signal: this.#abort.signal }, probe)
  }
  #closing: Promise<void> | undefined

  /**
   * Starts all servers and waits until every sentinel knows every replica and every other sentinel. Throws
   * `InvalidOptionsError`, or `TopologyError` with `REDIS_SERVER_MISSING`, `OPENSSL_MISSING`, `START_FAILED`, `WAIT_TIMEOUT`.
   * On an error nothing is left behind.
   */
  static async start(options: LocalTopologyOptions = {}): Promise<LocalTopology> {
    const settings = readTopologyOptions(options)
    for (let attempt = 1; ; attempt++) {
      settings.signal?.throwIfAborted()
      const topology = new LocalTopology(settings, await ServerFarm.prepare(settings))
      try {
        await topology.#begin()
        return topology
      } catch (error) {
        await topology.close()
        // Some other program took one of our ports between the look and the start: all again, elsewhere.
        const taken = error instanceof TopologyError && /Address already in use/.test(error.message)
        if (!taken || attempt === 5) throw error
      }
    }
  }

  private constructor(settings: TopologySettings, farm: ServerFarm) {
    this.#settings = settings
    this.#farm = farm
    this.#proxies = new Proxies(farm.ports)
    this.#group = new SentinelGroup(farm.sentinels)
  }

  /** The master names, in the order of the option: the pool's `masters`. */
  get masters(): string[] {
    return this.#farm.shards.map((shard) => shard.name)
  }

  /** Where clients reach the sentinels, through the proxies where there are any: the pool's `sentinels`. */
  get sentinels(): Address[] {
    return this.#farm.sentinels.map((node) => this.#proxies.clientAddress(node))
  }

  /**
   * Address that a sentinel tells (`'127.0.0.1:6379'`, `'[::1]:6379'`) -> where clients must go instead: the pool's
   * `addressMap`. Empty without proxies and with TLS on for both kinds of server or none. A new record at each reading.
   */
  get addressMap(): Record<string, Address> {
    return this.#proxies.addressMap(this.nodes, this.#settings.hostname)
  }

  /** PEM texts for clients: the CA, and a certificate with key where servers ask for one. Undefined without TLS. */
  get tls(): { readonly ca: string; readonly cert: string; readonly key: string } | undefined {
    return this.#farm.certificates?.pem
  }

  get sentinelNodes(): readonly TopologyNode[] {
    return this.#farm.sentinels
  }

  get shards(): readonly ShardHandle[] {
    return this.#farm.shards
  }

  /** All nodes, data first. */
  get nodes(): readonly TopologyNode[] {
    return this.#farm.nodes
  }

  /** The temporary folder. Gone after `close`. */
  get folder(): string {
    return this.#farm.folder
  }

  /** Throws `InvalidOptionsError` for a name that is none of `masters`. */
  shard(name: string): ShardHandle {
    const shard = this.#farm.shards.find((one) => one.name === name)
    if (shard) return shard
    throw new InvalidOptionsError('name', `no shard '${name}' here: ${this.masters.join(', ')}`)
  }

  /** The node that listens on this address or port, or whose proxy does; undefined when it is none of ours. */
  node(at: Address | number): TopologyNode | undefined {
    const port = typeof at === 'number' ? at : at.port
    return this.nodes.find(
      (n) => n.port === port || n.peerPort === port || this.#proxies.find(n)?.address.port === port,
    )
  }

  /**
   * The node that says master in ROLE and that most of the sentinels that answer name. Waits for one, 20 s at most by
   * default: during a failover there is none.
   */
  currentMaster(name: string, options: WaitOptions = {}): Promise<TopologyNode> {
    return findMaster(this.shard(name), this.#group, this.#wait, options.timeoutMs ?? 20_000)
  }

  /** The nodes of the shard that say slave in ROLE at this moment; those that do not answer are left out. */
  async replicas(name: string): Promise<TopologyNode[]> {
    return this.shard(name).saying('slave')
  }

  /** SIGKILL for the shard's master; resolves with its node when the process is gone. */
  async killMaster(name: string): Promise<TopologyNode> {
    const master = await this.currentMaster(name)
    await master.kill()
    return master
  }

  /** SIGSTOP for the shard's master; resolves with its node. */
  async freezeMaster(name: string): Promise<TopologyNode> {
    const master = await this.currentMaster(name)
    master.freeze()
    return master
  }

  /** `SENTINEL FAILOVER`: the old master stays up, and writable, and becomes a replica some 10 s later. 30 s at most by default. */
  async failover(name: string, options: FailoverOptions = {}): Promise<FailoverReport> {
    const { timeoutMs = 30_000, until = 'promoted' } = options
    const report = await promoteReplica(this.shard(name), this.#group, this.#wait, timeoutMs)
    if (until === 'agreed') await this.waitForSwitch(name, report.from, { timeoutMs })
    return report
  }

  /**
   * Resolves with the new master when all sentinels that run name a node other than `from`, and it says master in ROLE.
   * `from` is the master named now unless it is given. 30 s at most by default.
   */
  async waitForSwitch(name: string, from?: TopologyNode, options: WaitOptions = {}): Promise<TopologyNode> {
    const old = from?.port ?? (await this.#group.namedPorts(name))[0]
    return findSwitched(this.shard(name), this.#group, this.#wait, options.timeoutMs ?? 30_000, old)
  }

  /**
   * Resolves when every sentinel that runs knows every data node and sentinel that runs, all in their right roles, healthy and
   * with their links up. Nodes that are down or frozen are left out. 30 s at most by default: after a failover stock
   * sentinels take 10 to 20 s to make the old master a replica and to see that it is one; with `hurry` about 1 s.
   */
  async waitUntilSettled(options: SettleOptions = {}): Promise<void> {
    const { timeoutMs = 30_000, hurry = false } = options
    if (hurry) await this.#group.setPeriods('quick')
    try {
      await this.#wait('the topology to settle', timeoutMs, async () => {
        const missing = (await Promise.all(this.shards.map((shard) => this.#unsettled(shard)))).flat()
        return missing.length === 0 ? { ready: undefined } : { missing: missing.join('; ') }
      })
    } finally {
      if (hurry && !this.#settings.fast) await this.#group.setPeriods('stock')
    }
  }

  /** Calls the listener for each `+switch-master` of each sentinel that runs now. Returns a function that ends it. */
  async onSwitch(listener: (message: SwitchMessage) => void): Promise<() => void> {
    const ends = await Promise.all(
      this.#group.up.map((sentinel) =>
        sentinel.subscribe('+switch-master', (_, text) => {
          const message = parseSwitch(text)
          if (message) listener({ sentinel, ...message })
        }),
      ),
    )
    return () => {
      for (const end of ends) end()
    }
  }

  /**
   * Lets clients of one sentinel hear a `+switch-master` that no sentinel sent; returns how many heard it. Redis takes no
   * such PUBLISH from anyone, so it is the proxy before that sentinel that tells it: throws `InvalidOptionsError` without
   * one. Does not work through TLS.
   */
  publishFalseSwitch(sentinelIndex: number, name: string, from: Address, to: Address): number {
    const node = this.#farm.sentinels[sentinelIndex]
    const proxy = node && this.#proxies.find(node)
    if (!proxy || this.#settings.tls.sentinels) {
      throw new InvalidOptionsError('proxy', `sentinel ${sentinelIndex} needs a proxy before it and no TLS`)
    }
    return proxy.forge('+switch-master', [name, from.host, from.port, to.host, to.port].join(' '))
  }

  /**
   * Makes a stale sentinel: from now on this one hears neither its peers nor their words on the data nodes, and goes on naming
   * the masters of this moment, wherever the others move them. It still answers clients. There is no way back. From now on what
   * this class asks of "the sentinels" it asks of the others.
   */
  isolateSentinel(index: number): Promise<void> {
    const node = this.#farm.sentinels[index]
    if (!node) throw new InvalidOptionsError('index', `no sentinel ${index} here`)
    return this.#group.isolate(node, this.shards)
  }

  /** The proxy before a node, made when there is none yet: clients must then be given `sentinels` / `addressMap` anew. */
  proxy(node: TopologyNode): Promise<TcpProxy> {
    if (this.#closing) return Promise.reject(new TopologyError('CLOSED', 'the topology is closed'))
    return this.#proxies.before(node)
  }

  /** The last lines of every server's log, for an error message or a failing test. @param lines default 20 */
  logs(lines = 20): string {
    return this.#farm.evidence(lines)
  }

  /** Ends every process and proxy and removes the folder. May be called twice; later calls wait for the first. */
  close(): Promise<void> {
    this.#abort.abort(new TopologyError('CLOSED', 'the topology is closed'))
    this.#closing ??= this.#end()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #begin(): Promise<void> {
    const { proxy, signal } = this.#settings
    const abort = () => this.#abort.abort(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await this.#farm.start()
      const proxied = [
        ...(proxy.data ? this.shards.flatMap((s) => s.nodes) : []),
        ...(proxy.sentinels ? this.sentinelNodes : []),
      ]
      await Promise.all(proxied.map((node) => this.#proxies.before(node)))
      await this.#group.setPeriods('quick')
      await this.waitUntilSettled({ timeoutMs: this.#settings.startTimeoutMs })
      if (!this.#settings.fast) await this.#group.setPeriods('stock')
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  async #end(): Promise<void> {
    await this.#proxies.close()
    await this.#farm.close()
  }

  async #unsettled(shard: ShardHandle): Promise<string[]> {
    const [master, ...more] = await shard.saying('master')
    if (!master) return [`no node of ${shard.name} says master in ROLE`]
    if (more.length > 0) return [`${shard.name}: ROLE says master on ${[master, ...more].join(', ')}`]
    return (await Promise.all([shard.lag(master), this.#group.unsettled(shard, master)])).flat()
  }
}
