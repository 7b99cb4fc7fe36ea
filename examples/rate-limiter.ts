/** Five requests a second and user: each user's counter lives on one shard, so counting is atomic. */
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

// A limiter must answer at once: no call waits longer than this, whatever happens to the shard.
const pool = new ShardedSentinelPool({ ...topology, commandTimeoutMs: 250 })
await pool.connect()

const limits = { points: 5, duration: 1 }
const limiter = new RateLimiterRedis({
  ...limits,
  storeClient: pool,
  useRedisPackage: true,
  // While a shard is away, its users are counted in this process instead of being let through or turned away.
  insuranceLimiter: new RateLimiterMemory(limits),
})

for (let i = 1; i <= 7; i++) {
  try {
    const { remainingPoints } = await limiter.consume('ada')
    console.log(`request ${i}: ok, ${remainingPoints} left`)
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused
    console.log(`request ${i}: refused, try again in ${refused.msBeforeNext > 0 ? 'a moment' : 'no time'}`)
  }
}
await pool.close()
