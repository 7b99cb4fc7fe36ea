import { type Address, formatAddress } from '../address.js'
import type { PortBlock } from './ports.js'
import { SubscriberTap } from './subscriber-tap.js'
import { TcpProxy } from './tcp-proxy.js'
import type { TopologyNode } from './topology-node.js'

/** The proxies of one topology, at most one before each node. */
export class Proxies {
  readonly #ports: PortBlock
  readonly #byNode = new Map<TopologyNode, Promise<TcpProxy>>()
  readonly #listening = new Map<TopologyNode, TcpProxy>()

  constructor(ports: PortBlock) {
    this.#ports = ports
  }

  before(node: TopologyNode): Promise<TcpProxy> {
    const known = this.#byNode.get(node)
    if (known) return known
    const opening = this.#open(node)
    this.#byNode.set(node, opening)
    opening.catch(() => this.#byNode.delete(node))
    return opening
  }

  find(node: TopologyNode): TcpProxy | undefined {
    return this.#listening.get(node)
  }

  /** Where clients reach the node. */
  clientAddress(node: TopologyNode): Address {
    return this.find(node)?.address ?? node.address
  }

  /** What sentinels say -> where clients must go, for all nodes where the two differ. */
  addressMap(nodes: readonly TopologyNode[], hostname: string | undefined): Record<string, Address> {
    const map: Record<string, Address> = {}
    for (const node of nodes) {
      const client = this.clientAddress(node)
      for (const port of new Set([node.port, node.peerPort])) {
        if (port === client.port) continue
        for (const host of hostname ? [node.host, hostname] : [node.host]) map[formatAddress({ host, port })] = client
      }
    }
    return map
  }

  async close(): Promise<void> {
    const proxies = [...this.#listening.values()]
    this.#listening.clear()
    this.#byNode.clear()
    await Promise.all(proxies.map((proxy) => proxy.close()))
  }

  async #open(node: TopologyNode): Promise<TcpProxy> {
    const port = await this.#ports.take()
    const tap = node.kind === 'sentinel' ? { tap: () => new SubscriberTap() } : {}
    const proxy = await TcpProxy.listen({ target: node.address, port, ...tap })
    this.#listening.set(node, proxy)
    return proxy
  }
}
