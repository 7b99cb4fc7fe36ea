import type { TopologyNode } from './topology-node.js'

/** One shard: a master name and the data nodes started under it. Roles move between nodes; the handles stay. */
export interface ShardHandle {
  readonly name: string
  /** All its data nodes; `nodes[0]` was its first master. */
  readonly nodes: readonly TopologyNode[]
}
