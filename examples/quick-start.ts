import { ShardedSentinelPool } from './library.js'

const list = (name: string, otherwise: string) => (process.env[name] ?? otherwise).split(',')
const pool = new ShardedSentinelPool({
  masters: list('MASTERS', 'cache-a,cache-b,cache-c'),
  sentinels: list('SENTINELS', '127.0.0.1:26379'),
})
await pool.connect()
await pool.set('user:1', 'Ada')
console.log(pool.locate('user:1'), await pool.get('user:1'))

const lease = await pool.acquire('user:1') // a node-redis client of that key's shard, for you alone
console.log(await lease.client.strLen('user:1'))
await lease.release()
await pool.close()
