import type { TopologyNode } from './topology-node.js'

/**
 * What keeps the node from being a replica that has all its master had when we asked: one sentence, or none. That a replica
 * calls its link connected is not enough: its master may still hold the stream back.
 */
export async function lagOf(node: TopologyNode, master: TopologyNode): Promise<string[]> {
  const before = await master.role()
  if (before.role !== 'master') return [`${master} is no longer master`]
  const role = await node.role()
  if (role.role !== 'slave' || role.masterPort !== master.port) return [`${node} is no replica of ${master}`]
  if (role.link !== 'connected') return [`${node}: link ${role.link}`]
  if (before.offset > 0 && role.offset >= before.offset) return []
  // Where no sentinel says hello through it, the stream has not moved yet; a message moves it and leaves no key.
  if (before.offset === 0) await master.command('PUBLISH', 'sharded-sentinel-pool:settle', '')
  return [`${node} is at ${role.offset} of ${before.offset}`]
}
