import type { Address } from '../address.js'
import { InvalidOptionsError } from '../errors.js'
import { Proxies } from './proxies.js'
import { lagOf } from './replica-lag.js'
import { SentinelGroup } from './sentinel-group.js'
import { ServerFarm } from './server-farm.js'
import type { ShardHandle } from './shard-handle.js'
import { parseSwitch, type SwitchMessage } from './switch-message.js'
import type { TcpProxy } from './tcp-proxy.js'
import { TopologyError } from './topology-error.js'
import type { TopologyNode } from './topology-node.js'
import { type LocalTopologyOptions, readTopologyOptions, type TopologySettings } from './topology-options.js'
import { waitUntil } from './wait.js'

export interface WaitOptions {
  /** Bound, in ms. The default is said at each method. */
  readonly timeoutMs?: number
}

export interface FailoverOptions extends WaitOptions {
  /**
   * When `failover` resolves. `'promoted'`: the new master says so in ROLE, about a second before the sentinels announce it.
   * `'agreed'`: all sentinels that run name it. @default 'promoted'
   */
  readonly until?: 'promoted' | 'agreed'
}

export interface SettleOptions extends WaitOptions {
  /** Let sentinels look and tell more often than stock ones do while this waits (Redis 7). @default false */
  readonly hurry?: boolean
}

export interface FailoverReport {
  readonly from: TopologyNode
  readonly to: TopologyNode
  /** From the command to ROLE saying master, in ms. */
  readonly promotedAfterMs: number
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
  readonly #unsubscribe: (() => void)[] = []
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
    const shard = this.shard(name)
    return this.#wait(`${name} to have a master`, options.timeoutMs ?? 20_000, async () => {
      const named = await this.#group.namedPorts(name)
      const masters = await this.#sayMaster(shard)
      const chosen = this.#group.nodes.length === 0 ? masters[0] : masters.find((n) => isMajority(named, n.port))
      if (chosen) return { ready: chosen }
      return { missing: `sentinels name ${named.join(', ') || 'nothing'}; ROLE says master on ${masters.join(', ')}` }
    })
  }

  /** The nodes of the shard that say slave in ROLE at this moment; those that do not answer are left out. */
  async replicas(name: string): Promise<TopologyNode[]> {
    const { nodes } = this.shard(name)
    const roles = await Promise.allSettled(nodes.map((node) => askRole(node)))
    return nodes.filter((_, i) => roles[i]!.status === 'fulfilled' && roles[i]!.value === 'slave')
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

  /** `SENTINEL FAILOVER`: the old master stays up and becomes a replica some 10 s later. 30 s at most by default. */
  async failover(name: string, options: FailoverOptions = {}): Promise<FailoverReport> {
    const { timeoutMs = 30_000, until = 'promoted' } = options
    const shard = this.shard(name)
    const from = await this.currentMaster(name, { timeoutMs })
    await this.#group.startFailover(name, timeoutMs, () => this.#farm.evidence())
    const started = performance.now()
    const to = await this.#wait(
      `a replica of ${name} to be promoted`,
      timeoutMs,
      async () => {
        const masters = await this.#sayMaster(shard)
        const promoted = masters.find((node) => node !== from)
        return promoted ? { ready: promoted } : { missing: `ROLE says master on ${masters.join(', ')}` }
      },
      5,
    )
    const promotedAfterMs = performance.now() - started
    if (until === 'agreed') await this.waitForSwitch(name, from, { timeoutMs })
    return { from, to, promotedAfterMs }
  }

  /**
   * Resolves with the new master when all sentinels that run name a node other than `from`, and it says master in ROLE.
   * `from` is the master named now unless it is given. 30 s at most by default.
   */
  async waitForSwitch(name: string, from?: TopologyNode, options: WaitOptions = {}): Promise<TopologyNode> {
    const shard = this.shard(name)
    const old = from?.port ?? (await this.#group.namedPorts(name))[0]
    return this.#wait(`the master of ${name} to change`, options.timeoutMs ?? 30_000, async () => {
      const named = await this.#group.namedPorts(name)
      const [port] = named
      const agreed = named.length > 0 && named.length === this.#group.up.length && named.every((p) => p === port)
      if (!agreed || port === old) return { missing: `sentinels name ${named.join(', ') || 'nothing'}, was ${old}` }
      const node = shard.nodes.find((one) => one.port === port)
      if (!node || (await askRole(node)) !== 'master') return { missing: `${node ?? port} does not say master in ROLE` }
      return { ready: node }
    })
  }

  /**
   * Resolves when every sentinel that runs knows every data node and sentinel that runs, all in their right roles, healthy and
   * with their links up. Nodes that are down or frozen are left out. 30 s at most by default: after a failover stock
   * sentinels take some 10 s to make the old master a replica.
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
    const end = () => {
      for (const one of ends) one()
    }
    this.#unsubscribe.push(end)
    return end
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
    this.#closing ??= this.#end()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #begin(): Promise<void> {
    const { proxy } = this.#settings
    await this.#farm.start()
    const proxied = [
      ...(proxy.data ? this.shards.flatMap((s) => s.nodes) : []),
      ...(proxy.sentinels ? this.sentinelNodes : []),
    ]
    await Promise.all(proxied.map((node) => this.#proxies.before(node)))
    await this.#group.setPeriods('quick')
    await this.waitUntilSettled({ timeoutMs: this.#settings.startTimeoutMs })
    if (!this.#settings.fast) await this.#group.setPeriods('stock')
  }

  async #end(): Promise<void> {
    for (const end of this.#unsubscribe) end()
    await this.#proxies.close()
    await this.#farm.close()
  }

  async #unsettled(shard: ShardHandle): Promise<string[]> {
    const masters = await this.#sayMaster(shard)
    if (masters.length !== 1) return [`${shard.name}: ROLE says master on ${masters.join(', ') || 'no node'}`]
    const master = masters[0]!
    const followers = shard.nodes.filter((node) => node !== master && node.state === 'up')
    const links = await Promise.all(followers.map((node) => lagOf(node, master)))
    return [...links.flat(), ...(await this.#group.unsettled(shard, master))]
  }

  async #sayMaster(shard: ShardHandle): Promise<TopologyNode[]> {
    const up = shard.nodes.filter((node) => node.state === 'up')
    const roles = await Promise.allSettled(up.map((node) => askRole(node)))
    return up.filter((_, i) => roles[i]!.status === 'fulfilled' && roles[i]!.value === 'master')
  }

  #wait<T>(
    what: string,
    timeoutMs: number,
    probe: () => Promise<{ ready: T } | { missing: string }>,
    intervalMs = 20,
  ): Promise<T> {
    const { signal } = this.#settings
    const evidence = () => this.#farm.evidence()
    return waitUntil({ what, timeoutMs, intervalMs, evidence, signal: this.#closing ? undefined : signal }, () => {
      if (this.#closing) throw new TopologyError('CLOSED', 'the topology is closed')
      return probe()
    })
  }
}

async function askRole(node: TopologyNode): Promise<string> {
  return (await node.role()).role
}

function isMajority(ports: readonly number[], port: number): boolean {
  return ports.filter((one) => one === port).length * 2 > ports.length
}
