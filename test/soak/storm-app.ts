/** Many pools of one process, as many app processes would have them: connects all, then sends now and then, until its parent closes stdin. */
import { ShardedSentinelPool } from '../../src/index.js'
import type { TestPool } from '../support/pool-on-topology.js'

const { options, count } = JSON.parse(process.argv[2]!)
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const pools = Array.from({ length: count }, () => new ShardedSentinelPool(options) as TestPool)
let moved = 0
let failed = 0
for (const pool of pools) {
  pool.on('failover', () => {
    moved++
    if (moved === count) say({ moved })
  })
}
// One after another: the storm that counts is the one at the failover.
for (const pool of pools) await pool.connect()
const traffic = setInterval(() => {
  for (const pool of pools) pool.set('key', 'value').catch(() => failed++)
}, 200)
say({ connected: count })

process.stdin.resume()
process.stdin.once('end', async () => {
  clearInterval(traffic)
  await Promise.all(pools.map((pool) => pool.close()))
  say({ closed: count, failed })
})
