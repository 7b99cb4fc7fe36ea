/** Beside a Java service on ShardedJedisSentinelPool: the same masters in the same order, and every key is where Java has put it. */
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool({
  ...topology,
  // MURMUR_HASH, shards by position; Sharded.DEFAULT_KEY_TAG_PATTERN, if the Java side gives one.
  ring: { preset: 'jedis', tag: '\\{(.+?)\\}' },
  // The first pool leaves its ring on the shards; one with another ring or order is refused from then on.
  placementGuard: 'claim',
})
await pool.connect()
for (const key of ['user:1000', '{user:1000}.followers', 'user:1001']) console.log(`${key} is on ${pool.locate(key)}`)

const reordered = new ShardedSentinelPool({
  ...topology,
  masters: [...topology.masters].reverse(),
  ring: { preset: 'jedis', tag: '\\{(.+?)\\}' },
})
await reordered.connect().catch((error) => console.log(error.code))
await pool.close()
