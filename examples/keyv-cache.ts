/** A cache over all shards by Keyv, which needs no more than a node-redis client. */
import KeyvRedis from '@keyv/redis'
import { Keyv } from 'keyv'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool({
  ...topology,
  // setMany puts keys of several shards into one MULTI: one per shard is all a cache needs.
  crossShardMulti: 'split',
  // A cache that is slow is worse than none.
  commandTimeoutMs: 500,
})
await pool.connect()
const cache = new Keyv(new KeyvRedis(pool as never), { namespace: 'prices' })

async function priceOf(article: string): Promise<number> {
  const known = await cache.get<number>(article)
  if (known !== undefined) return known
  const price = article.length * 100 // stands for the slow question
  await cache.set(article, price, 60_000)
  return price
}

console.log(await priceOf('lamp'), await priceOf('lamp'), await cache.has('lamp'))
await cache.setMany([
  { key: 'chair', value: 4_900 },
  { key: 'table', value: 19_900 },
])
console.log(await cache.getMany(['chair', 'table', 'sofa']))
await cache.clear()
await pool.close()
