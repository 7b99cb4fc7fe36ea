/** A BullMQ queue and its worker. A queue's keys belong together: the tag in the prefix puts a whole queue on one shard. */
import { Queue, QueueEvents, Worker } from 'bullmq'
import { ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

const prefix = '{mails}'
const pool = new ShardedSentinelPool(topology)
await pool.connect()
// BullMQ wants a connection of its own wherever it blocks or listens, and leaves closing them to us.
const forWorker = pool.duplicate()
const forEvents = pool.duplicate()
await Promise.all([forWorker.connect(), forEvents.connect()])

const queue = new Queue('mails', { connection: pool as never, prefix })
const events = new QueueEvents('mails', { connection: forEvents as never, prefix })
const worker = new Worker(
  'mails',
  async (job) => {
    console.log(`mail to ${job.data.to}`)
    return 'sent'
  },
  { connection: forWorker as never, prefix },
)
await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()])

const jobs = await queue.addBulk(['ada', 'bob', 'eve'].map((to) => ({ name: 'welcome', data: { to } })))
for (const job of jobs) console.log(await job.waitUntilFinished(events, 10_000))

await worker.close()
await events.close()
await queue.close()
await Promise.all([forWorker.close(), forEvents.close(), pool.close()])
