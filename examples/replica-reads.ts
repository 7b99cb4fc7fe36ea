/** Reads from replicas: for what may be a moment old. What must be the latest is read from the master, call by call. */
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool({ ...topology, readFrom: 'preferReplica' })
await pool.connect()
const latest = pool.withReadFrom('master')

await pool.set('article:1', 'a lamp')
console.log(`latest: ${await latest.get('article:1')}`)

// A replica is behind by milliseconds, and now and then by more.
let known = await pool.get('article:1')
while (known === null) known = await pool.get('article:1')
console.log(`sooner or later: ${known}`)

const shard = pool.stats().shards.find(({ name }) => name === pool.locate('article:1'))!
console.log(`read from a replica: ${shard.replicas.length > 0}`)
await pool.close()
