import type { Connect } from '../contract.js'

const FOUND: Readonly<Record<string, (options: URLSearchParams) => Promise<Connect>>> = {
  bare: async () => (await import('./bare.js')).bare,
  pool: async (options) => (await import('./pool.js')).loadPool(options),
  sendCommand: async () => (await import('./bare.js')).sendCommand,
  'node-redis defaults': async () => (await import('./bare.js')).asItComes,
  createSentinel: async () => (await import('./peers.js')).sentinel,
  createClientPool: async () => (await import('./peers.js')).clientPool,
  'generic-pool per command': async () => (await import('./peers.js')).genericPool,
  ioredis: async () => (await import('./peers.js')).ioredis,
  'ioredis autopipelined': async () => (await import('./peers.js')).ioredisAutoPipelined,
  'npm hashring': async () => (await import('./peers.js')).hashring,
}

/** What people use otherwise. */
export const PEERS = Object.keys(FOUND).slice(3)

/** Loads one contender by its name, `pool?sharedConnections=2` say, and nothing of the others. */
export async function findContender(name: string): Promise<{ connect: Connect; options: URLSearchParams }> {
  const [kind = '', query] = name.split('?', 2)
  const load = FOUND[kind]
  if (load === undefined) throw new Error(`no contender '${kind}'`)
  const options = new URLSearchParams(query)
  return { connect: await load(options), options }
}
