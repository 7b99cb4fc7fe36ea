import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Certificates, createCertificates } from './certificates.js'
import { findRedisServer } from './executable.js'
import { onProcessExit } from './exit-cleanup.js'
import { PortBlock } from './ports.js'
import { RedisProcess } from './redis-process.js'
import type { RespTarget } from './resp-connection.js'
import type { NodeRole } from './role.js'
import { ADMIN, type ConfigContext, dataConfig, hasUsers, sentinelConfig } from './server-config.js'
import { ShardHandle } from './shard-handle.js'
import { TopologyNode } from './topology-node.js'
import type { TopologySettings } from './topology-options.js'
import { waitUntil } from './wait.js'
import { Watchdog } from './watchdog.js'

/**
 * What a topology owns in the system: a temporary folder, a block of ports, a watchdog and the server processes. Everything
 * that must be gone at the end is made and ended here.
 */
export class ServerFarm {
  readonly folder: string
  readonly ports: PortBlock
  readonly certificates: Certificates | undefined
  readonly shards: ShardHandle[] = []
  readonly sentinels: TopologyNode[] = []
  readonly #settings: TopologySettings
  readonly #context: ConfigContext
  readonly #binary: string
  readonly #watchdog: Watchdog
  readonly #forgetExit: () => void

  /** Makes the folder and the handles; no server runs yet. */
  static async prepare(settings: TopologySettings): Promise<ServerFarm> {
    const binary = findRedisServer(settings.redisServer)
    const ports = await PortBlock.claim(settings.host)
    const folder = mkdtempSync(join(tmpdir(), 'sharded-sentinel-pool-'))
    const watchdog = new Watchdog(folder)
    try {
      const wanted = settings.tls.data || settings.tls.sentinels
      const certificates = wanted ? await createCertificates(folder, settings.tls.names) : undefined
      const farm = new ServerFarm(settings, binary, ports, folder, watchdog, certificates)
      await farm.#layOut()
      return farm
    } catch (error) {
      await Promise.all([ports.release(), watchdog.close()])
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  private constructor(
    settings: TopologySettings,
    binary: string,
    ports: PortBlock,
    folder: string,
    watchdog: Watchdog,
    certificates: Certificates | undefined,
  ) {
    this.#settings = settings
    this.#binary = binary
    this.ports = ports
    this.folder = folder
    this.certificates = certificates
    this.#watchdog = watchdog
    this.#context = { settings, adminPassword: randomBytes(16).toString('hex'), tlsFiles: certificates?.files }
    this.#forgetExit = onProcessExit(() => this.#stopNow())
  }

  get nodes(): readonly TopologyNode[] {
    return [...this.shards.flatMap((shard) => shard.nodes), ...this.sentinels]
  }

  /**
   * Masters, replicas, sentinels: each kind when the one before is ready. A replica that finds no master, and a sentinel
   * that finds a replica still syncing, look again only after 1 s; in this order all of it takes less than a third of that.
   */
  async start(): Promise<void> {
    const { startTimeoutMs, signal } = this.#settings
    const start = (node: TopologyNode) => node.start(startTimeoutMs, signal)
    const masters = this.shards.map(({ nodes }) => nodes[0]!)
    const replicas = this.shards.flatMap(({ nodes }) => nodes.slice(1))
    await Promise.all(masters.map(start))
    await Promise.all(replicas.map(start))
    const evidence = () => this.evidence()
    const wait = { what: 'the replicas to sync', timeoutMs: startTimeoutMs, intervalMs: 5, evidence, signal }
    await waitUntil(wait, async () => {
      const roles = await Promise.all(replicas.map((node) => node.role()))
      const behind = replicas.filter((_, i) => !isLinked(roles[i]!))
      return behind.length === 0 ? { ready: true } : { missing: `not linked: ${behind.join(', ')}` }
    })
    await Promise.all(this.sentinels.map(start))
  }

  async close(): Promise<void> {
    try {
      await Promise.all(this.nodes.map((node) => node.retire()))
    } finally {
      await Promise.all([this.ports.release(), this.#watchdog.close()])
      await rm(this.folder, { recursive: true, force: true })
      this.#forgetExit()
    }
  }

  /** The last lines of every server's log, for the end of an error. */
  evidence(lines = 6): string {
    return this.nodes.map((node) => `--- ${node}, ${node.state}\n${node.logTail(lines)}`).join('\n')
  }

  async #layOut(): Promise<void> {
    const { names, replicas, sentinels, tls } = this.#settings
    for (const name of names) {
      const nodes: TopologyNode[] = []
      for (let index = 0; index <= replicas; index++) {
        const port = await this.ports.take()
        const config = dataConfig(this.#context, { port, masterPort: nodes[0]?.port })
        nodes.push(this.#node({ kind: 'data', label: `${name}/${index}`, shard: name, index, port, config }))
      }
      this.shards.push(new ShardHandle(name, nodes))
    }
    const masters = this.shards.map(({ name, nodes }) => ({ name, port: nodes[0]!.port }))
    for (let index = 0; index < sentinels; index++) {
      const port = await this.ports.take()
      const peerPort = tls.data === tls.sentinels ? undefined : await this.ports.take()
      const config = sentinelConfig(this.#context, { port, peerPort }, masters)
      this.sentinels.push(this.#node({ kind: 'sentinel', label: `sentinel/${index}`, index, port, peerPort, config }))
    }
  }

  #node(plan: {
    kind: 'data' | 'sentinel'
    label: string
    shard?: string
    index: number
    port: number
    peerPort?: number | undefined
    config: string
  }): TopologyNode {
    const { kind, label, config } = plan
    // A folder for each: both kinds of server rewrite their configuration file in place.
    const folder = join(this.folder, label.replace('/', '-'))
    mkdirSync(folder, { recursive: true })
    const file = join(folder, `${kind === 'data' ? 'redis' : 'sentinel'}.conf`)
    writeFileSync(file, config, { mode: 0o600 })
    return new TopologyNode({
      ...plan,
      folder,
      target: this.#target(kind, plan.port),
      process: new RedisProcess({
        binary: this.#binary,
        args: kind === 'data' ? [file] : [file, '--sentinel'],
        folder,
        logFile: join(folder, 'server.log'),
        watchdog: this.#watchdog,
      }),
    })
  }

  #target(kind: 'data' | 'sentinel', port: number): RespTarget {
    const { host, tls, password, acl, sentinelPassword, sentinelAcl } = this.#settings
    const secured = kind === 'data' ? hasUsers(password, acl) : hasUsers(sentinelPassword, sentinelAcl)
    const encrypted = kind === 'data' ? tls.data : tls.sentinels
    return {
      address: { host, port },
      ...(secured ? { username: ADMIN, password: this.#context.adminPassword } : {}),
      ...(encrypted && this.certificates ? this.certificates.pem : {}),
    }
  }

  #stopNow(): void {
    for (const node of this.nodes) node.killNow()
    try {
      rmSync(this.folder, { recursive: true, force: true })
    } catch {
      // A server that is just ending may still write; the watchdog removes the folder a moment later.
    }
  }
}

function isLinked(role: NodeRole): boolean {
  return role.role === 'slave' && role.link === 'connected'
}
