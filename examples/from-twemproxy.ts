/** In place of a twemproxy: its distribution, hash and hash tag, and the names (or host:port) of its servers as labels. */
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

// servers:
//   - 10.0.0.1:6379:1
//   - 10.0.0.2:6379:1
//   - 10.0.0.3:6379:2
const servers = ['10.0.0.1:6379', '10.0.0.2:6379', '10.0.0.3:6379']
const pool = new ShardedSentinelPool({
  sentinels: topology.sentinels,
  masters: topology.masters.map((name, i) => ({ name, label: servers[i]!, weight: i === 2 ? 2 : 1 })),
  ring: { preset: 'twemproxy', distribution: 'ketama', hash: 'fnv1a_64', hashTag: '{}' },
})
await pool.connect()
for (const { name, share } of pool.ring.describe().shards) console.log(`${name} owns ${Math.round(share! * 100)} %`)

// What the proxy could not: keys of several shards in one call, and a failover that no key moves by.
await pool.mSet({ 'user:1': 'Ada', 'user:2': 'Bob', 'user:3': 'Eve' })
console.log(await pool.mGet(['user:1', 'user:2', 'user:3']))
await pool.close()
