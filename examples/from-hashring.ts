/** In place of npm hashring and a client per server: the server strings become labels, and `locate` stands for `ring.get`. */
import HashRing from 'hashring'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const servers = ['127.0.0.1:7400', '127.0.0.1:7401', '127.0.0.1:7402'].slice(0, topology.masters.length)
const before = new HashRing(servers)

const pool = new ShardedSentinelPool({
  sentinels: topology.sentinels,
  masters: topology.masters.map((name, i) => ({ name, label: servers[i]! })),
  ring: { preset: 'hashring' },
})
await pool.connect()

let same = 0
for (let i = 0; i < 1_000; i++) {
  const name = topology.masters[servers.indexOf(before.get(`user:${i}`))]
  if (pool.locate(`user:${i}`) === name) same++
}
console.log(`${same} of 1000 keys stay where they are`)
await pool.close()
