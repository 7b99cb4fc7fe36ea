import { createClient } from 'redis'
import { LocalTopology } from '../dist/library/testing/index.js'
import { locator } from './contenders/bare.js'
import type { Servers } from './contract.js'
import { makeKeys } from './workloads.js'

/** Masters on free ports, without replicas: what a command costs the client does not depend on them. */
export async function startServers(
  shards: number,
  sentinels: number,
): Promise<{ servers: Servers; close(): Promise<void> }> {
  const topology = await LocalTopology.start({ shards, replicas: 0, sentinels, downAfterMs: 30_000 })
  const masters = topology.shards.map(({ name, nodes }) => ({ name, host: nodes[0]!.host, port: nodes[0]!.port }))
  return { servers: { masters, sentinels: topology.sentinels }, close: () => topology.close() }
}

/** Writes every key with a value of so many characters to its shard. */
export async function fill(servers: Servers, size: number): Promise<void> {
  const locate = locator(servers)
  const value = 'x'.repeat(size)
  const { all } = makeKeys()
  await Promise.all(
    servers.masters.map(async ({ host, port }, shard) => {
      const client = createClient({ socket: { host, port } })
      await client.connect()
      await client.sendCommand(['FLUSHALL'])
      const mine = all.filter((key) => locate(key) === shard)
      for (let i = 0; i < mine.length; i += 256) {
        await Promise.all(mine.slice(i, i + 256).map((key) => client.set(key, value)))
      }
      client.destroy()
    }),
  )
}
