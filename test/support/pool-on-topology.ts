import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import type { LocalTopology, TopologyNode } from '../../src/testing/index.js'

export type TestPool = ShardedSentinelPool

/** A pool over all shards of a topology, not connected yet. */
export function poolOn(topology: LocalTopology, options: Partial<PoolOptions> = {}): TestPool {
  return new ShardedSentinelPool({
    masters: topology.masters,
    sentinels: topology.sentinels,
    addressMap: topology.addressMap,
    ...options,
  } as PoolOptions)
}

/** One key of each shard, by master name; give it to `keyOf` to make as many as are needed. */
export function keyOf(pool: TestPool, shard: string, prefix = 'key'): string {
  for (let i = 0; ; i++) {
    const tag = `${prefix}${i}`
    if (pool.locate(`{${tag}}`) === shard) return `{${tag}}`
  }
}

export interface ClientLine {
  readonly id: string
  readonly addr: string
  readonly name: string
  readonly cmd: string
}

/** The pool's connections as the server lists them. */
export async function poolClients(node: TopologyNode, name = 'sharded-sentinel-pool'): Promise<ClientLine[]> {
  const text = String(await node.command('CLIENT', 'LIST'))
  return text
    .split('\n')
    .map((line) => {
      const field = (key: string) => new RegExp(`(?:^| )${key}=(\\S*)`).exec(line)?.[1] ?? ''
      return { id: field('id'), addr: field('addr'), name: field('name'), cmd: field('cmd') }
    })
    .filter((client) => client.name.startsWith(name))
}

export async function poolClientIds(node: TopologyNode): Promise<string[]> {
  return (await poolClients(node)).map((client) => client.id).sort()
}

/** What the server holds for each key, asked of that very server. */
export async function valuesOn(node: TopologyNode, keys: readonly string[]): Promise<(string | null)[]> {
  const values: (string | null)[] = []
  for (let at = 0; at < keys.length; at += 500) {
    const reply = (await node.command('MGET', ...keys.slice(at, at + 500))) as (string | null)[]
    values.push(...reply)
  }
  return values
}
