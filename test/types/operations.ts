/**
 * Compile-only. Whatever looks at a pool or its options takes any pool: of every RESP version, with modules and scripts.
 */
import { defineScript, type RedisArgument } from 'redis'
import { startDashboard } from '../../src/cli/dashboard/index.js'
import { healthOf, inspectTopology, requestFailover, ShardedSentinelPool } from '../../src/index.js'
import { instrument } from '../../src/opentelemetry/index.js'

const addUp = defineScript({
  SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key: RedisArgument, by: number) {
    parser.pushKey(key)
    parser.push(by.toString())
  },
  transformReply: (reply: unknown): number => Number(reply),
})

export async function looksAtAnyPool(): Promise<void> {
  const options = { masters: ['a'], sentinels: ['h'], client: { scripts: { addUp }, RESP: 2 as const } }
  const pool = new ShardedSentinelPool(options)
  healthOf(pool)
  instrument(pool)
  await startDashboard(pool, { options })
  await inspectTopology(options)
  await requestFailover(options, 'a')

  const plain = new ShardedSentinelPool({ masters: ['a'], sentinels: ['h'] })
  healthOf(plain)
  instrument(plain)
  await startDashboard(plain)
  // @ts-expect-error: masters is missing
  await inspectTopology({ sentinels: ['h'] })
}
