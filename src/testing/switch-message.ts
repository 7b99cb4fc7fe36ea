import type { Address } from '../address.js'
import type { TopologyNode } from './topology-node.js'

/** One `+switch-master`, and the sentinel that sent it. */
export interface SwitchMessage {
  readonly sentinel: TopologyNode
  readonly name: string
  readonly from: Address
  readonly to: Address
}

/** Reads `name old-host old-port new-host new-port`; undefined when the text is something else. */
export function parseSwitch(text: string): Omit<SwitchMessage, 'sentinel'> | undefined {
  const parts = text.split(' ')
  const [name, oldHost, oldPort, newHost, newPort] = parts
  if (parts.length !== 5 || !name || !oldHost || !newHost) return undefined
  return { name, from: { host: oldHost, port: Number(oldPort) }, to: { host: newHost, port: Number(newPort) } }
}
