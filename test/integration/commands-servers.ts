import { LocalTopology } from '../../src/testing/index.js'

/** Plain Redis servers without replicas or sentinels: `pooled` for the pool, `plain` for the client it is compared with. */
export interface PlainServers extends AsyncDisposable {
  readonly pooled: { readonly name: string; readonly host: string; readonly port: number }[]
  readonly plain: { readonly host: string; readonly port: number }
}

export async function startServers(shards = 3): Promise<PlainServers> {
  const names = Array.from({ length: shards }, (_, i) => `shard-${i}`)
  const topology = await LocalTopology.start({ shards: [...names, 'plain'], replicas: 0, sentinels: 0 })
  const addressOf = (name: string) => {
    const { host, port } = topology.shard(name).nodes[0]!
    return { host, port }
  }
  return {
    pooled: names.map((name) => ({ name, ...addressOf(name) })),
    plain: addressOf('plain'),
    [Symbol.asyncDispose]: () => topology[Symbol.asyncDispose](),
  }
}
