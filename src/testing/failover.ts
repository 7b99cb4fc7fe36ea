import type { SentinelGroup } from './sentinel-group.js'
import type { ShardHandle } from './shard-handle.js'
import type { TopologyNode } from './topology-node.js'
import type { Seen } from './wait.js'

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

export interface FailoverReport {
  readonly from: TopologyNode
  readonly to: TopologyNode
  /** From the command to ROLE saying master, in ms. */
  readonly promotedAfterMs: number
}

/** A bounded wait, with the logs of the topology at the end of its error. */
export type Wait = <T>(
  what: string,
  timeoutMs: number,
  probe: () => Promise<Seen<T>>,
  intervalMs?: number,
) => Promise<T>

/** Waits for one node that says master in ROLE and that most of the sentinels that answer name. */
export function findMaster(shard: ShardHandle, group: SentinelGroup, wait: Wait, timeoutMs: number) {
  return wait<TopologyNode>(`${shard.name} to have a master`, timeoutMs, async () => {
    const [named, masters] = await Promise.all([group.namedPorts(shard.name), shard.saying('master')])
    const isNamed = (node: TopologyNode) => named.filter((port) => port === node.port).length * 2 > named.length
    const master = group.nodes.length === 0 ? masters[0] : masters.find(isNamed)
    return master
      ? { ready: master }
      : { missing: `sentinels name ${list(named)}; ROLE says master on ${list(masters)}` }
  })
}

/** `SENTINEL FAILOVER`, up to the promotion. */
export async function promoteReplica(
  shard: ShardHandle,
  group: SentinelGroup,
  wait: Wait,
  timeoutMs: number,
): Promise<FailoverReport> {
  const from = await findMaster(shard, group, wait, timeoutMs)
  // A sentinel refuses while it knows no good replica, or is still busy with the last failover.
  const begin = () => group.startFailover(shard.name)
  let leader = await wait(`a failover of ${shard.name} to start`, timeoutMs, begin, 50)
  const started = performance.now()
  const promoted = async (): Promise<Seen<TopologyNode>> => {
    // Before ROLE: a failover that had come to its end by then has a promoted node to show.
    const goesOn = await group.failsOver(leader, shard.name)
    const masters = await shard.saying('master')
    const node = masters.find((one) => one !== from)
    if (node) return { ready: node }
    if (!goesOn) {
      // Given up, as on a busy machine when every replica seems away for a moment (-failover-abort-no-good-slave).
      const again = await begin()
      if ('ready' in again) leader = again.ready
    }
    return { missing: `ROLE says master on ${list(masters)}` }
  }
  const to = await wait(`a replica of ${shard.name} to be promoted`, timeoutMs, promoted, 5)
  return { from, to, promotedAfterMs: performance.now() - started }
}

/** Waits until all sentinels that run name one node that is not at `old`, and that node says master. */
export function findSwitched(shard: ShardHandle, group: SentinelGroup, wait: Wait, timeoutMs: number, old?: number) {
  return wait<TopologyNode>(`the master of ${shard.name} to change`, timeoutMs, async () => {
    const [named, masters] = await Promise.all([group.namedPorts(shard.name), shard.saying('master')])
    const agreed = named.length > 0 && named.length === group.up.length && new Set(named).size === 1
    const master = agreed && named[0] !== old ? masters.find((node) => node.port === named[0]) : undefined
    if (master) return { ready: master }
    return { missing: `sentinels name ${list(named)}, was ${old}; ROLE says master on ${list(masters)}` }
  })
}

function list(items: readonly unknown[]): string {
  return items.length > 0 ? items.join(', ') : 'none'
}
