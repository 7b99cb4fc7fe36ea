import { RoutedClient } from '../dist/library/commands/routed-client.js'
import type { RoutingContext } from '../dist/library/commands/routing-context.js'
import { ConnectionFactory, type RedisArgument } from '../dist/library/redis-client.js'
import { createRing } from '../dist/library/ring/index.js'
import type { LeasePort, ShardPort } from '../dist/library/shard/call.js'
import { median } from './figures.js'
import { KEY_COUNT, makeKeys } from './workloads.js'

/** Answers in the next microtask, as a socket's reply would come in some later one. */
export class EmptyShard implements ShardPort {
  readonly name: string
  readonly index: number
  readonly clock = { now: 0 }
  settled = 0
  readonly closed = new AbortController().signal
  constructor(index: number) {
    this.index = index
    this.name = `shard-${index}`
  }
  send(words: readonly RedisArgument[]): Promise<unknown> {
    return words[0] === 'MGET' ? Promise.resolve(words.slice(1)) : Promise.resolve('OK')
  }
  recover(error: unknown): Promise<unknown> {
    return Promise.reject(error)
  }
  sendBatch(commands: readonly (readonly RedisArgument[])[]): Promise<readonly unknown[]> {
    return Promise.resolve(commands.map((words) => (words[0] === 'EXEC' ? commands.slice(2) : 'QUEUED')))
  }
  acquire(): Promise<LeasePort> {
    return Promise.reject(new Error('no leases here'))
  }
}

type None = Record<never, never>
class Client extends RoutedClient<None, None, None, 3, None> {
  constructor(context: RoutingContext) {
    super(context)
  }
}

/** The pool's commands over so many stub shards: everything but the sockets. */
export function routedStubs(count: number): { client: Client; shards: readonly EmptyShard[] } {
  const shards = Array.from({ length: count }, (_, index) => new EmptyShard(index))
  const client = new Client({
    ring: createRing({ shards: shards.map(({ name }) => ({ name })) }),
    shards,
    template: new ConnectionFactory().template(),
    waitUntilOpen: () => undefined,
  })
  return { client, shards }
}

/** Nanoseconds of one call with `depth` in flight. */
export async function nsPerCall(run: () => Promise<unknown>, calls: number, depth: number): Promise<number> {
  const start = process.hrtime.bigint()
  for (let done = 0; done < calls; done += depth) {
    const batch: Promise<unknown>[] = []
    for (let i = 0; i < depth; i++) batch.push(run())
    await Promise.all(batch)
  }
  return Number(process.hrtime.bigint() - start) / (Math.ceil(calls / depth) * depth)
}

/** What a GET costs without sockets, in µs, for each number of shards: the median of interleaved rounds. */
export async function routingCosts(counts: readonly number[], rounds = 15): Promise<number[]> {
  const { all } = makeKeys()
  const clients = counts.map((count) => routedStubs(count).client)
  const times: number[][] = counts.map(() => [])
  let turn = 0
  for (let round = -2; round < rounds; round++) {
    for (const [i, client] of clients.entries()) {
      const ns = await nsPerCall(() => client.get(all[turn++ % KEY_COUNT]!), 100_000, 256)
      // The first rounds are V8's, to compile it.
      if (round >= 0) times[i]!.push(ns)
    }
  }
  return times.map((list) => median(list) / 1e3)
}
