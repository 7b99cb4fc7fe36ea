import type { LocalTopology, TopologyNode } from '../library.js'
import type { Found } from './ledger.js'
import { SessionStore } from './session-store.js'

/** Every session on a shard's master, asked from that very server: the pool has no part in it. */
export async function readBack(topology: LocalTopology, shard: string): Promise<Found> {
  const master = await topology.currentMaster(shard)
  const found = new Map<string, number>()
  const prefix = SessionStore.key('')
  for (const key of await keysOf(master, `${prefix}*`)) {
    const count = await master.command('HGET', key, 'touches')
    found.set(key.slice(prefix.length), Number(count))
  }
  return found
}

async function keysOf(node: TopologyNode, pattern: string): Promise<Set<string>> {
  const keys = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = (await node.command('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1_000)) as [string, string[]]
    for (const key of page) keys.add(key)
    cursor = next
  } while (cursor !== '0')
  return keys
}
