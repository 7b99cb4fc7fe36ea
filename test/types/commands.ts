/**
 * Compile-only. The pool has node-redis's own signatures: good calls compile, bad ones do not, and wherever an app says
 * `RedisClientType` for the commands it uses, the pool fits.
 */
import { defineScript, RESP_TYPES, type RedisArgument, type RedisClientType } from 'redis'
import type { CommandName } from '../../src/commands/surface.js'
import { ShardedSentinelPool } from '../../src/pool.js'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_proof: Equal<A, B>): void {}
type Reply<T> = T extends (...args: never[]) => Promise<infer R> ? R : never

const addUp = defineScript({
  SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key: RedisArgument, by: number) {
    parser.pushKey(key)
    parser.push(by.toString())
  },
  transformReply: (reply: unknown): number => Number(reply),
})

const pool = new ShardedSentinelPool({ masters: ['a'], sentinels: ['127.0.0.1'] })

// Every command, in both spellings, and the namespaces of the modules, with node-redis's own signatures and replies.
export const commands: Pick<RedisClientType, CommandName> = pool
export const members: Pick<
  RedisClientType,
  | 'multi'
  | 'MULTI'
  | 'subscribe'
  | 'SUBSCRIBE'
  | 'unsubscribe'
  | 'pSubscribe'
  | 'sSubscribe'
  | 'sUnsubscribe'
  | 'sendCommand'
> = pool

export async function replies(): Promise<void> {
  same<Awaited<ReturnType<typeof readString>>, string | null>(true)
  same<Awaited<ReturnType<typeof readMany>>, (string | null)[]>(true)
  same<Reply<typeof pool.hGetAll>, Reply<RedisClientType['hGetAll']>>(true)
  same<Reply<typeof pool.zRangeWithScores>, Reply<RedisClientType['zRangeWithScores']>>(true)
  same<Reply<typeof pool.xRange>, Reply<RedisClientType['xRange']>>(true)
  same<Reply<typeof pool.json.get>, Reply<RedisClientType['json']['get']>>(true)
  const bytes = pool.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  same<Reply<typeof bytes.get>, Buffer | null>(true)
  const [first, second] = await pool.multi().set('{k}a', '1').incr('{k}b').execTyped()
  same<typeof second, number>(true)
  void first
  const settled = await pool.settled.mGet(['a', 'b'])
  same<typeof settled.reply, (string | Error | null)[] | undefined>(true)
  for await (const keys of pool.scanIterator({ MATCH: '*', COUNT: 10 })) same<typeof keys, string[]>(true)
  for await (const page of pool.hScanIterator('k'))
    for (const { field, value } of page) void [field.length, value.length]
  const raw: string = await pool.sendCommand<string>(['GET', 'k'])
  const keyed: number = await pool.sendCommand<number>('k', ['EVAL', 'return 1', '0'])
  void [raw, keyed]
  await pool.subscribe('c', (message, channel) => void [message.length, channel.length])
  await pool.subscribe('c', (message: Buffer) => void message.byteLength, true)
}
const readString = () => pool.get('k')
const readMany = () => pool.mGet(['a', Buffer.from('b')])

export async function scriptsAndModules(): Promise<void> {
  const scripted = new ShardedSentinelPool({
    masters: ['a'],
    sentinels: ['127.0.0.1'],
    client: { scripts: { addUp }, RESP: 2 },
  })
  same<Reply<typeof scripted.addUp>, number>(true)
  const view = scripted.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  await view.addUp('k', 1)
  // @ts-expect-error the second argument is a number
  await scripted.addUp('k', 'one')
  // @ts-expect-error a pool without that script has no such method
  await pool.addUp('k', 1)
}

export async function badCalls(): Promise<void> {
  // @ts-expect-error a key is text or bytes
  await pool.get(1)
  // @ts-expect-error no such option
  await pool.set('k', 'v', { EXPIRES: 1 })
  // @ts-expect-error no such command
  await pool.getAll('k')
  // @ts-expect-error a value is needed
  await pool.set('k')
  // @ts-expect-error belongs to one connection: see pool.use
  await pool.select(1)
  // @ts-expect-error belongs to one connection: see pool.use
  await pool.watch('k')
  // @ts-expect-error a cluster has this
  void pool.slots
  // @ts-expect-error ioredis has this
  void pool.status
  // @ts-expect-error no such read preference
  pool.withReadFrom('nearest')
}
