import { randomBytes } from 'node:crypto'
import { parseInstance, parseInstances, type SentinelView, unsettled } from './settled.js'
import type { ShardHandle } from './shard-handle.js'
import { TopologyError } from './topology-error.js'
import type { TopologyNode } from './topology-node.js'
import type { Seen } from './wait.js'

/** Sentinel's stock periods, and quick ones that let it see and tell within a moment what else takes 2 to 10 s. */
const STOCK = ['INFO-PERIOD', 10_000, 'PUBLISH-PERIOD', 2_000, 'PING-PERIOD', 1_000] as const
const QUICK = ['INFO-PERIOD', 60, 'PUBLISH-PERIOD', 60, 'PING-PERIOD', 60] as const

/** The sentinels of a topology, asked and steered together. Those that are down, frozen or isolated are left out. */
export class SentinelGroup {
  readonly nodes: readonly TopologyNode[]
  readonly #isolated = new Set<TopologyNode>()

  constructor(nodes: readonly TopologyNode[]) {
    this.nodes = nodes
  }

  get up(): readonly TopologyNode[] {
    return this.nodes.filter((node) => node.state === 'up' && !this.#isolated.has(node))
  }

  /**
   * `SENTINEL DEBUG`, which Redis has since 7.0. Before that sentinels stay at their stock periods: settling then takes
   * some 10 s and nothing else differs.
   */
  async setPeriods(periods: 'stock' | 'quick'): Promise<void> {
    const values = periods === 'quick' ? QUICK : STOCK
    await Promise.all(
      this.up.map((node) =>
        node.command('SENTINEL', 'DEBUG', ...values).catch((error: unknown) => {
          if (!(error instanceof TopologyError)) throw error
        }),
      ),
    )
  }

  /** The port that each sentinel names as the master's; those that do not answer are left out. */
  async namedPorts(name: string): Promise<number[]> {
    const answers = await Promise.allSettled(
      this.up.map((node) => node.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)),
    )
    return answers.flatMap((answer) =>
      answer.status === 'fulfilled' && Array.isArray(answer.value) ? [Number(answer.value[1])] : [],
    )
  }

  /** Empty when every sentinel that runs sees the shard whole and healthy with this master. */
  async unsettled(shard: ShardHandle, master: TopologyNode): Promise<string[]> {
    const replicas = shard.nodes.filter((node) => node !== master && node.state === 'up').map((node) => node.port)
    const missing = await Promise.all(
      this.up.map(async (node) => {
        const sentinels = this.up.filter((other) => other !== node).map((other) => other.peerPort)
        return unsettled(await view(node, shard.name), { master: master.port, replicas, sentinels })
      }),
    )
    return missing.flat()
  }

  /** Asks one sentinel for a failover. Throws its refusal: `NOGOODSLAVE`, `INPROG`. */
  async startFailover(name: string): Promise<Seen<TopologyNode>> {
    const node = this.up[0]
    if (!node) return { missing: 'no sentinel runs' }
    await node.command('SENTINEL', 'FAILOVER', name)
    return { ready: node }
  }

  /** Whether the sentinel still is at the failover that it was asked for. One that does not answer may be. */
  async failsOver(node: TopologyNode, name: string): Promise<boolean> {
    try {
      const { flags } = parseInstance(await node.command('SENTINEL', 'MASTER', name))
      return flags?.includes('failover_in_progress') === true
    } catch {
      return true
    }
  }

  /**
   * Sentinels tell each other of a switch in two ways: PUBLISH on each other, and on the data nodes' channels. This one is
   * made to refuse the first, and to log in on data nodes as one who may not hear the second.
   */
  async isolate(node: TopologyNode, shards: readonly ShardHandle[]): Promise<void> {
    const name = `deaf-${node.index}`
    const password = randomBytes(16).toString('hex')
    const dataNodes = shards.flatMap((shard) => shard.nodes).filter((one) => one.state !== 'down')
    const rules = ['on', `>${password}`, '~*', '&*', '+@all', '-subscribe', '-publish']
    await Promise.all(dataNodes.map((one) => one.command('ACL', 'SETUSER', name, ...rules)))
    const users = await node.command('ACL', 'USERS')
    for (const user of Array.isArray(users) ? users.map(String) : []) {
      await node.command('ACL', 'SETUSER', user, '-publish')
    }
    for (const shard of shards) {
      await node.command('SENTINEL', 'SET', shard.name, 'auth-user', name, 'auth-pass', password)
    }
    this.#isolated.add(node)
  }
}

async function view(node: TopologyNode, name: string): Promise<SentinelView> {
  const [master, replicas, sentinels] = await Promise.all([
    node.command('SENTINEL', 'MASTER', name),
    node.command('SENTINEL', 'REPLICAS', name),
    node.command('SENTINEL', 'SENTINELS', name),
  ])
  return {
    sentinel: node.label,
    name,
    master: parseInstance(master),
    replicas: parseInstances(replicas),
    sentinels: parseInstances(sentinels),
  }
}
