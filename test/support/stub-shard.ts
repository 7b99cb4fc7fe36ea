import { after } from 'node:test'
import type { Address } from '../../src/address.js'
import { CoarseClock } from '../../src/async/clock.js'
import { type PoolOptions, readOptions } from '../../src/options.js'
import { ConnectionFactory } from '../../src/redis-client.js'
import type { CallOptions, CommandProfile } from '../../src/shard/call.js'
import { Shard } from '../../src/shard/shard.js'
import { StubConnection, turn } from './stub-connection.js'
import { StubSource } from './stub-source.js'

export const A = { host: '10.0.0.1', port: 6379 }
export const B = { host: '10.0.0.2', port: 6379 }
export const GET: CommandProfile = { name: 'GET', readOnly: true }
export const SET: CommandProfile = { name: 'SET', readOnly: false }

// Where there are no sockets nothing keeps the process alive: the pool's own timers never do.
const alive = setInterval(() => {}, 60_000)
after(() => clearInterval(alive))

/** A whole shard without a socket: the source says where the master is, and the stubs answer when the test wants it. */
export function stubShard(options: Partial<PoolOptions> = {}) {
  const source = new StubSource()
  const events: [string, Record<string, unknown>][] = []
  const note = (name: string) => (event: unknown) => void events.push([name, event as Record<string, unknown>])
  const settings = readOptions({
    masters: ['cache-a'],
    sentinels: ['10.0.0.9:26379'],
    commandTimeoutMs: 500,
    pool: { min: 0 },
    ...options,
  })
  const clock = new CoarseClock(5)
  const shard = new Shard({
    name: 'cache-a',
    index: 0,
    settings,
    source: source.asSource,
    factory: new ConnectionFactory(),
    clock,
    listener: {
      onAttemptFailed: () => {},
      onFailover: note('failover'),
      onReconnect: note('reconnect'),
      onDown: note('down'),
      onLeak: note('leak'),
    },
  })
  return {
    shard,
    source,
    events,
    clock,
    names: () => events.map(([name]) => name),
    /** The attempt under way finds the master here. */
    async found(address: Address = A, reply?: (args: readonly unknown[]) => unknown): Promise<StubConnection> {
      const connection = new StubConnection(reply, address)
      source.last.found(address, connection)
      await turn()
      return connection
    },
    call(profile: CommandProfile, callOptions?: CallOptions): Promise<unknown> {
      return shard.execute([profile.name, 'k', 'v'], profile, callOptions)
    },
  }
}

export type StubShard = ReturnType<typeof stubShard>

/** A shard that has its master already, with the connection to it. */
export async function readyShard(options: Partial<PoolOptions> = {}): Promise<StubShard & { first: StubConnection }> {
  const unit = stubShard(options)
  unit.shard.trigger({ reason: 'connect' })
  const first = await unit.found()
  return { ...unit, first }
}
