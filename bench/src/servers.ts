import { LocalTopology } from '../dist/library/testing/index.js'
import { connectAll, locator } from './contenders/bare.js'
import type { Servers } from './contract.js'
import { LARGE, makeKeys } from './workloads.js'

/** Masters on free ports, without replicas: what a command costs the client does not depend on them. */
export async function startServers(
  shards: number,
  sentinels: number,
): Promise<{ servers: Servers; close(): Promise<void> }> {
  const topology = await LocalTopology.start({ shards, replicas: 0, sentinels, downAfterMs: 30_000 })
  const masters = topology.shards.map(({ name, nodes }) => ({ name, host: nodes[0]!.host, port: nodes[0]!.port }))
  return { servers: { masters, sentinels: topology.sentinels }, close: () => topology.close() }
}

/** Writes the values of 1 MB. */
export async function fillLarge(servers: Servers): Promise<void> {
  const locate = locator(servers)
  const clients = await connectAll(servers, { commandOptions: { timeout: undefined } })
  const value = 'x'.repeat(1024 * 1024)
  for (const key of LARGE) await clients[locate(key)]!.set(key, value)
  for (const client of clients) client.destroy()
}

/** Writes every key with a value of so many characters to its shard. */
export async function fill(servers: Servers, size: number): Promise<void> {
  const locate = locator(servers)
  const value = 'x'.repeat(size)
  const { all } = makeKeys()
  const clients = await connectAll(servers, { commandOptions: { timeout: undefined } })
  await Promise.all(clients.map((client) => client.sendCommand(['FLUSHALL'])))
  for (let i = 0; i < all.length; i += 256) {
    await Promise.all(all.slice(i, i + 256).map((key) => clients[locate(key)]!.set(key, value)))
  }
  for (const client of clients) client.destroy()
}
