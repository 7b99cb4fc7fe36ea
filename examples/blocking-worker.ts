/** A worker on a plain list, with a graceful end: the job in hand is finished, and none is taken that will not be. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ShardedSentinelPool, ShardedSentinelPoolError } from './library.js'
import { topology } from './topology.js'

const pool = new ShardedSentinelPool(topology)
await pool.connect()

let stopping = false
process.once('SIGTERM', () => {
  stopping = true
})

// The tag keeps both lists on one shard, which a move between them needs.
const [waiting, working] = ['{jobs}:waiting', '{jobs}:working'] as const
console.log('ready')
while (!stopping) {
  try {
    // Blocks on a connection of its own; a second at most, so that the end is never far.
    const job = await pool.blMove(waiting, working, 'LEFT', 'RIGHT', 1)
    if (job === null) continue
    await sleep(20) // stands for the work
    await pool.lRem(working, 1, job)
    console.log(`done: ${job}`)
  } catch (error) {
    // The shard's master changed under the wait. A job that was moved lies in `working`, where a clean-up finds it.
    if (!(error instanceof ShardedSentinelPoolError && error.retryable)) throw error
    console.log(`again: ${error.code}`)
  }
}
await pool.close()
console.log('stopped')
