/**
 * `sharded-sentinel-pool/dashboard`: one page on loopback that shows a pool live. The command `dashboard` starts it beside
 * the app; this entry starts it within, for the app's own pool.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TopologyOptions } from '../../index.js'
import { openInBrowser } from './browser.js'
import { type DashboardPool, Feed } from './feed.js'
import { ringArcs } from './ring-arcs.js'
import { pageServer } from './server.js'

/** What `startDashboard` takes besides the pool. */
export interface DashboardOptions {
  /** Port on 127.0.0.1; 0 takes a free one. @default 0 */
  readonly port?: number
  /** Heading of the page. @default 'sharded-sentinel-pool' */
  readonly title?: string
  /** Open it in the browser. @default false */
  readonly open?: boolean
  /** The options of the pool: with them the servers are asked too (replicas and their lag, sentinels, doctor's findings). */
  readonly options?: TopologyOptions
}

/** A page that is being served. */
export interface Dashboard extends AsyncDisposable {
  readonly url: string
  /** Ends the page and every listener on the pool; the pool goes on. Idempotent. */
  close(): Promise<void>
}

/**
 * Serves the page until `close()`. Loopback only; it shows addresses and figures, never keys or credentials.
 *
 * @example
 * await using dashboard = await startDashboard(pool, { options })
 * console.log(dashboard.url)
 */
export async function startDashboard(pool: DashboardPool, options: DashboardOptions = {}): Promise<Dashboard> {
  const feed = new Feed(pool, options.options)
  const server = pageServer({ feed, title: options.title ?? 'sharded-sentinel-pool', arcs: ringArcs(pool.ring) })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  feed.start()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= new Promise<void>((resolve) => {
      feed.stop()
      server.close(() => resolve())
      server.closeAllConnections()
    })
    return closing
  }
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  if (options.open === true) openInBrowser(url)
  return { url, close, [Symbol.asyncDispose]: close }
}

export type { DashboardPool } from './feed.js'
