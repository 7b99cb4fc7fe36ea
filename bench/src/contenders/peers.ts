import { createPool } from 'generic-pool'
import HashRing from 'hashring'
import { Redis } from 'ioredis'
import { createClient, createClientPool, createSentinel } from 'redis'
import type { Connect } from '../contract.js'
import { connectAll, locator } from './bare.js'

/** node-redis's own Sentinel client, one per shard. */
export const sentinel: Connect = async (servers) => {
  const locate = locator(servers)
  const clients = await Promise.all(
    servers.masters.map(({ name }) => {
      const client = createSentinel({ name, sentinelRootNodes: [...servers.sentinels] })
      client.on('error', (error) => console.error(error))
      return client.connect()
    }),
  )
  return {
    get: (key) => clients[locate(key)]!.get(key),
    close() {
      for (const client of clients) client.destroy()
    },
  }
}

/** node-redis's own pool, one per shard. */
export const clientPool: Connect = async (servers) => {
  const locate = locator(servers)
  const pools = await Promise.all(
    servers.masters.map(async ({ host, port }) => {
      const pool = createClientPool({ socket: { host, port } }, { minimum: 8, maximum: 8 })
      pool.on('error', (error) => console.error(error))
      await pool.connect()
      return pool
    }),
  )
  return {
    get: (key) => pools[locate(key)]!.get(key),
    close() {
      for (const pool of pools) pool.destroy()
    },
  }
}

/** The way of the Java original: a connection borrowed for every command, here with 8 per shard. */
export const genericPool: Connect = async (servers) => {
  const locate = locator(servers)
  const pools = servers.masters.map(({ host, port }) =>
    createPool(
      {
        create: async () => {
          const client = createClient({ socket: { host, port }, commandOptions: { timeout: undefined } })
          client.on('error', (error) => console.error(error))
          await client.connect()
          return client
        },
        destroy: async (client) => client.destroy(),
      },
      { min: 8, max: 8 },
    ),
  )
  await Promise.all(pools.map((pool) => pool.ready()))
  return {
    async get(key) {
      const pool = pools[locate(key)]!
      const client = await pool.acquire()
      try {
        return await client.get(key)
      } finally {
        await pool.release(client)
      }
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.drain().then(() => pool.clear())))
    },
  }
}

async function ioredisClients(servers: Parameters<Connect>[0], enableAutoPipelining: boolean): ReturnType<Connect> {
  const locate = locator(servers)
  const clients = servers.masters.map(({ host, port }) => new Redis({ host, port, enableAutoPipelining }))
  await Promise.all(clients.map((client) => client.ping()))
  return {
    get: (key) => clients[locate(key)]!.get(key),
    close() {
      for (const client of clients) client.disconnect()
    },
  }
}

export const ioredis: Connect = (servers) => ioredisClients(servers, false)

export const ioredisAutoPipelined: Connect = (servers) => ioredisClients(servers, true)

/** Bare clients, each key placed by npm hashring. */
export const hashring: Connect = async (servers) => {
  const clients = await connectAll(servers, { commandOptions: { timeout: undefined } })
  const byName = new Map(servers.masters.map(({ host, port }, i) => [`${host}:${port}`, clients[i]!]))
  const ring = new HashRing([...byName.keys()])
  return {
    get: (key) => byName.get(ring.get(key))!.get(key),
    close() {
      for (const client of clients) client.destroy()
    },
  }
}
