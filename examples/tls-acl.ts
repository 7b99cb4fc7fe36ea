/** TLS and users of their own: what an app may do on data nodes, and the least it needs on sentinels. */
import { readFile } from 'node:fs/promises'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const ca = await readFile(process.env.CA ?? 'ca.pem', 'utf8')
const pool = new ShardedSentinelPool({
  ...topology,
  // On data nodes: ACL SETUSER app on >… ~* &* +@all -@admin -@dangerous +info +role
  client: { username: 'app', password: process.env.APP_PASSWORD ?? '', socket: { tls: true, ca } },
  // On sentinels: ACL SETUSER watcher on >… resetchannels &* +auth +client|setname +hello +ping +subscribe +sentinel|…
  sentinelClient: { username: 'watcher', password: process.env.WATCHER_PASSWORD ?? '', socket: { tls: true, ca } },
})
await pool.connect()
await pool.set('secret', 'kept')
console.log(await pool.get('secret'))
await pool.flushAll().catch((error: Error) => console.log(error.message.split(' ', 1)[0]))
await pool.close()
