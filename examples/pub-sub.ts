/** Messages over the shards: a channel belongs to a shard as a key does, and subscriptions follow it through a failover. */
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool(topology)
await pool.connect()
pool.on('subscription-gap', ({ shard, channels, durationMs }) => {
  // Nobody keeps messages: what was published meanwhile is to be fetched in another way.
  console.log(`${shard}: ${channels.length} channels were deaf for ${durationMs} ms`)
})

const heard: string[] = []
let all = () => {}
const complete = new Promise<void>((resolve) => {
  all = resolve
})
for (const room of ['red', 'green', 'blue']) {
  await pool.subscribe(`room:${room}`, (message, channel) => {
    heard.push(`${channel}: ${message}`)
    if (heard.length === 3) all()
  })
}
for (const room of ['red', 'green', 'blue']) await pool.publish(`room:${room}`, `hello ${room}`)
await complete
console.log(heard.sort().join('\n'))
await pool.unsubscribe()
await pool.close()
