import { createClient, RESP_TYPES } from 'redis'
import { joinedWritev } from '../../dist/library/joined-write.js'
import { createRing } from '../../dist/library/ring/index.js'
import type { Connect, Contender, Servers } from '../contract.js'

type ClientOptions = NonNullable<Parameters<typeof createClient>[0]>

/** The measure of all: node-redis clients, one per shard, without its time-out per command, sharded by hand. */
export const bare: Connect = async (servers) => {
  const clients = await connectAll(servers, { commandOptions: { timeout: undefined } })
  return byHand(servers, clients)
}

/** How fast node-redis itself can be driven: ready arguments, `joined=1` the writes of one flush made one; no deadline. */
export const sendCommand: Connect = async (servers, options) => {
  const locate = locator(servers)
  // node-redis's type does not name all that it hands on to the socket.
  const socket = (options.has('joined') ? { writev: joinedWritev } : {}) as NonNullable<ClientOptions['socket']>
  const clients = await connectAll(servers, { commandOptions: { timeout: undefined }, socket })
  return {
    get: (key) => clients[locate(key)]!.sendCommand(['GET', key]),
    set: (key, value) => clients[locate(key)]!.sendCommand(['SET', key, value]),
    close() {
      for (const client of clients) client.destroy()
    },
  }
}

/** The same with node-redis's defaults: an AbortSignal with a time-out of 5 s for every command. */
export const asItComes: Connect = async (servers) => byHand(servers, await connectAll(servers, {}))

export type Client = ReturnType<typeof createClient>

export function connectAll(servers: Servers, options: ClientOptions): Promise<Client[]> {
  return Promise.all(
    servers.masters.map(async ({ host, port }) => {
      const client = createClient({ ...options, socket: { ...options.socket, host, port } as never })
      client.on('error', (error) => console.error(error))
      await client.connect()
      return client as Client
    }),
  )
}

export function locator({ masters }: Servers): (key: string) => number {
  const ring = createRing({ shards: masters.map(({ name }) => name) })
  return (key) => ring.locate(key)
}

function byHand(servers: Servers, clients: Client[]): Contender {
  let exclusive: Promise<Client[]> | undefined
  const ring = createRing({ shards: servers.masters.map(({ name }) => name) })
  const bytes = clients.map((client) => client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }))
  return {
    get: (key) => clients[ring.locate(key)]!.get(key),
    set: (key, value) => clients[ring.locate(key)]!.set(key, value),
    getBytes: (key) => bytes[ring.locate(key)]!.get(key),
    mGet: (keys) => split(keys, (part, i) => clients[i]!.mGet(part)),
    pipeline: (keys) =>
      split(keys, (part, i) => {
        const multi = clients[i]!.multi()
        for (const key of part) multi.get(key)
        return multi.execAsPipeline() as Promise<unknown[]>
      }),
    async transaction(key) {
      exclusive ??= connectAll(servers, { commandOptions: { timeout: undefined } })
      const client = (await exclusive)[ring.locate(key)]!
      await client.watch(key)
      const value = await client.get(key)
      return client.multi().set(key, String(value)).exec()
    },
    async close() {
      for (const client of [...clients, ...((await exclusive) ?? [])]) client.destroy()
    },
  }

  /** As one would write it: keys by shard, each shard asked once, the answers put back in the order of the keys. */
  async function split(
    keys: readonly string[],
    ask: (part: string[], shard: number) => Promise<readonly unknown[]>,
  ): Promise<unknown[]> {
    const parts: string[][] = clients.map(() => [])
    const places: number[][] = clients.map(() => [])
    for (let i = 0; i < keys.length; i++) {
      const shard = ring.locate(keys[i]!)
      parts[shard]!.push(keys[i]!)
      places[shard]!.push(i)
    }
    const answers = new Array<unknown>(keys.length)
    await Promise.all(
      parts.map(async (part, shard) => {
        if (part.length === 0) return
        const replies = await ask(part, shard)
        for (let i = 0; i < replies.length; i++) answers[places[shard]![i]!] = replies[i]
      }),
    )
    return answers
  }
}
