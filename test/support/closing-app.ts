/**
 * An app in a process of its own: connects, works, and at the parent's word waits `closeAfterMs` and closes its pool. Then
 * nothing of ours may keep it alive. It prints a line of JSON when it is at work and one when the pool is closed.
 */
import { ShardedSentinelPool } from '../../src/index.js'
import { keyOf } from './pool-on-topology.js'

const { options, closeAfterMs, way } = JSON.parse(process.argv[2]!)
const pool = new ShardedSentinelPool(options)
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

await pool.connect()
const names: string[] = options.masters
const keys = names.map((name) => keyOf(pool as never, name))
let stopped = false
const codes: Record<string, number> = {}
const workers = keys.map(async (key) => {
  while (!stopped) {
    await pool.set(key, 'value').catch((error: { code?: string }) => {
      const code = error.code ?? String(error)
      codes[code] = (codes[code] ?? 0) + 1
      if (code === 'POOL_CLOSED') stopped = true
    })
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
})

async function close(): Promise<void> {
  const startedAt = performance.now()
  if (way === 'destroy') pool.destroy()
  else await pool.close()
  const closedAfterMs = performance.now() - startedAt
  stopped = true
  await Promise.all(workers)
  say({ closedAfterMs, codes, resources: process.getActiveResourcesInfo() })
}

if (way === 'in-handler') pool.once('failover', () => void close())
else
  process.stdin.once('data', () => {
    process.stdin.destroy()
    setTimeout(close, closeAfterMs)
  })
if (way === 'in-handler') process.stdin.destroy()
say({ working: true })
