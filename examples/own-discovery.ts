/**
 * A pool whose masters are found in Consul in place of sentinels. Real Redis servers, and a stand-in for Consul in this
 * process: `npx tsx examples/own-discovery.ts`. Whoever fails over tells Consul; here that is this program.
 */
import { formatAddress, LocalTopology, ShardedSentinelPool } from './library.js'
import { consulResolver } from './own-discovery/consul-resolver.js'
import { FakeConsul } from './own-discovery/fake-consul.js'

await using topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'], sentinels: 0 })
const consul = await FakeConsul.listen()
const publish = (name: string, at: { host: string; port: number }) =>
  consul.put(`redis/masters/${name}`, formatAddress(at))
for (const name of topology.masters) publish(name, (await topology.currentMaster(name)).address)

const pool = new ShardedSentinelPool({ masters: topology.masters, resolver: consulResolver(consul.url) })
pool.on('failover', ({ shard, to, durationMs }) => {
  console.log(`${shard} is at ${formatAddress(to)} now, found in ${durationMs} ms`)
})
await pool.connect()
await pool.set('user:1', 'Ada')
const name = pool.locate('user:1')
console.log(`user:1 lives on ${name}`)

const [replica] = await topology.replicas(name)
await topology.killMaster(name)
await replica!.command('REPLICAOF', 'NO', 'ONE')
publish(name, replica!.address)
console.log('after the failover:', await pool.get('user:1'))

await pool.close()
await consul.close()
