import { type Address, addressKey, sameAddress } from '../address.js'
import type { MasterBelief, NodeReport, SentinelReport } from './picture.js'

/** A node as somebody named it. */
export interface NamedNode {
  readonly address: Address
  readonly announced: Address
  readonly namedMasterBy: readonly Address[]
}

/**
 * Who belongs to a shard, by what the sentinels say: every address that one of them names as its master or replica, once.
 * The master is the one of the latest configuration; where epochs are equal or hidden, the one with the most votes.
 */
export function nodesOf(
  name: string,
  sentinels: readonly SentinelReport[],
  fixed: Address | undefined,
  mapAddress: (address: Address) => Address,
): { readonly master: Address | undefined; readonly nodes: readonly NamedNode[] } {
  const nodes = new Map<string, { address: Address; announced: Address; namedMasterBy: Address[] }>()
  const add = (announced: Address, voter?: Address) => {
    const address = mapAddress(announced)
    const key = addressKey(address)
    const node = nodes.get(key) ?? { address, announced, namedMasterBy: [] }
    if (voter !== undefined) node.namedMasterBy.push(voter)
    nodes.set(key, node)
  }
  if (fixed !== undefined) add(fixed)
  const votes: MasterBelief[] = []
  for (const { address, beliefs } of sentinels) {
    const belief = beliefs.find((one) => one.masterName === name)
    if (!belief?.announced) continue
    votes.push(belief)
    add(belief.announced, address)
    for (const replica of belief.replicas ?? []) add(replica.address)
  }
  return { master: fixed === undefined ? elect(votes) : mapAddress(fixed), nodes: [...nodes.values()] }
}

function elect(votes: readonly MasterBelief[]): Address | undefined {
  const count = (address: Address) => votes.filter((vote) => vote.address && sameAddress(vote.address, address)).length
  const [best] = [...votes].sort(
    (a, b) => (b.configEpoch ?? -1) - (a.configEpoch ?? -1) || count(b.address!) - count(a.address!),
  )
  return best?.address ?? undefined
}

/** How many bytes each replica is behind its master. */
export function withLag(nodes: readonly NodeReport[], master: Address | undefined): readonly NodeReport[] {
  const offset = master && nodes.find((node) => sameAddress(node.address, master))?.offset
  if (offset === undefined) return nodes
  return nodes.map((node) =>
    node.role === 'slave' && node.offset !== undefined
      ? // The replica was asked a moment later or earlier than the master, so a little may have come in between.
        { ...node, lagBytes: Math.max(0, offset - node.offset) }
      : node,
  )
}
