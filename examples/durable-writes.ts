/** Writes that survive a failover: they resolve only when a replica has them too. */
import { ShardedSentinelPool, ShardedSentinelPoolError } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool(topology)
await pool.connect()
const durable = pool.withReplicaAck({ replicas: 1, timeoutMs: 1_000 })

await durable.set('order:1', 'paid')
console.log('order 1 is on two servers')
try {
  await pool.withReplicaAck({ replicas: 5, timeoutMs: 100 }).set('order:2', 'paid')
} catch (error) {
  if (!(error instanceof ShardedSentinelPoolError)) throw error
  // It ran on the master: only how many replicas have it is too few.
  console.log(`order 2: ${error.code}`)
}
console.log(await pool.mGet(['order:1', 'order:2']))
await pool.close()
