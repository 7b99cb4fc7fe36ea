import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, type Context, EXIT } from '../command.js'
import { startDashboard } from '../dashboard/index.js'
import { type CommandPool, makePool } from '../pool.js'
import { readSettings } from '../settings.js'
import { UsageError } from '../usage-error.js'

/** Four round trips a second make a p99 that follows; nothing else sends on this pool's connections. */
const HEARTBEAT_MS = 250
const RETRY_MS = 2_000

export const dashboard: Command = {
  name: 'dashboard',
  summary: 'One local page, drawn live: ring, shards, sentinels, operations, p99, failovers',
  synopsis: '[--port <n>] [--open]',
  description: `Serves a page on 127.0.0.1 until Ctrl-C: the ring with each shard's share, every shard with master and replicas,
    the sentinels, operations and round trips per shard as plots, failovers on a time line, and what doctor finds. It needs
    nothing from elsewhere, and shows addresses and figures, never keys or credentials.

    It connects as a pool of its own does, reads INFO every two seconds, and writes nothing. For the view from within an app:
    startDashboard of sharded-sentinel-pool/dashboard.`,
  examples: ['-c pool.json', '-c pool.json --port 8080 --open'],
  flags: [
    { name: 'port', value: '<n>', help: 'Port on 127.0.0.1; 0 takes a free one. Default 8379' },
    { name: 'open', help: 'Open it in the browser' },
  ],
  takesSettings: true,
  words: [0, 0],
  async run(context) {
    const { flags, io, signal } = context
    const options = await readSettings(flags, io.env)
    const port = flags.number('port', 8379, 0, 65535)
    const pool = makePool({ heartbeatMs: HEARTBEAT_MS, ...options, requireAllShards: false, placementGuard: 'off' })
    const connecting = connect(pool, context)
    try {
      await using page = await startDashboard(pool, { port, options, open: flags.has('open') }).catch(
        (error: NodeJS.ErrnoException) => {
          throw error.code === 'EADDRINUSE' ? new UsageError(`port ${port} is taken; give another --port`) : error
        },
      )
      io.out(`${page.url}\n`)
      io.err('Ctrl-C ends it.\n')
      if (!signal.aborted) await once(signal, 'abort')
      return EXIT.ok
    } finally {
      pool.destroy()
      await connecting
    }
  },
}

/** The page is there before the shards are, and says what is missing. */
async function connect(pool: CommandPool, { signal, io }: Context): Promise<void> {
  let told = ''
  while (!signal.aborted) {
    try {
      await pool.connect()
      return
    } catch (error) {
      if (signal.aborted) return
      const { message } = error as Error
      if (message !== told) io.err(`not connected: ${message}; trying again\n`)
      told = message
      await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
