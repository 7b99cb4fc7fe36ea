import { lagOf } from './replica-lag.js'
import type { TopologyNode } from './topology-node.js'

/** One shard: a master name and the data nodes started under it. Roles move between nodes; the handles stay. */
export class ShardHandle {
  readonly name: string
  /** All its data nodes; `nodes[0]` was its first master. */
  readonly nodes: readonly TopologyNode[]

  constructor(name: string, nodes: readonly TopologyNode[]) {
    this.name = name
    this.nodes = nodes
  }

  /**
   * The nodes that say `'master'`, or `'slave'`, in ROLE at this moment. Those that do not answer are left out. During a
   * failover there may be no master, or two: an old one says it until Sentinel has made it a replica.
   */
  async saying(role: 'master' | 'slave'): Promise<TopologyNode[]> {
    const up = this.nodes.filter((node) => node.state === 'up')
    const roles = await Promise.allSettled(up.map((node) => node.role()))
    return up.filter((_, i) => {
      const answer = roles[i]
      return answer?.status === 'fulfilled' && answer.value.role === role
    })
  }

  /** What keeps the nodes that run from following this master; empty when nothing does. */
  async lag(master: TopologyNode): Promise<string[]> {
    const followers = this.nodes.filter((node) => node !== master && node.state === 'up')
    return (await Promise.all(followers.map((node) => lagOf(node, master)))).flat()
  }
}
