/** Money from one account to another, never lost and never from nothing: WATCH, look, MULTI, and again if somebody was quicker. */
import { ShardedSentinelPool, WatchError } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool(topology)
await pool.connect()

async function transfer(bank: string, from: string, to: string, amount: number): Promise<boolean> {
  // The tag: both accounts on one shard, or there is no transaction.
  const [source, target] = [`{${bank}}:${from}`, `{${bank}}:${to}`] as const
  // WATCH belongs to a connection, so the connection is ours alone meanwhile.
  return pool.use(source, async (client) => {
    for (;;) {
      await client.watch(source)
      if (Number(await client.get(source)) < amount) {
        await client.unwatch()
        return false
      }
      try {
        await client.multi().decrBy(source, amount).incrBy(target, amount).exec()
        return true
      } catch (error) {
        if (!(error instanceof WatchError)) throw error
      }
    }
  })
}

await pool.mSet({ '{bank}:ada': '100', '{bank}:bob': '0' })
const results = await Promise.all(Array.from({ length: 6 }, () => transfer('bank', 'ada', 'bob', 20)))
console.log(`${results.filter(Boolean).length} of ${results.length} transfers`)
console.log(await pool.mGet(['{bank}:ada', '{bank}:bob']))
await pool.close()
