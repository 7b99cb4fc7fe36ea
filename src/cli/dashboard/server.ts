import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Feed } from './feed.js'
import { page } from './page.js'
import type { ShardArcs } from './ring-arcs.js'

export interface PageSettings {
  readonly feed: Feed
  readonly title: string
  readonly arcs: readonly ShardArcs[]
}

/** The page, its events, and nothing else. Every answer forbids to load anything from elsewhere. */
export function pageServer(settings: PageSettings): Server {
  const server = createServer((request, response) => {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    if (!isLocal(request)) return refuse(response, 403, 'only by a loopback name')
    if (request.method !== 'GET') return refuse(response, 405, 'only GET')
    switch (request.url) {
      case '/':
        return sendPage(response, settings)
      case '/events':
        return sendEvents(request, response, settings.feed)
      default:
        return refuse(response, 404, 'there is only /')
    }
  })
  return server
}

/** A page of somebody else's whose name was made to point here (DNS rebinding) comes with that name. */
function isLocal({ headers }: IncomingMessage): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(headers.host ?? '')
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}

function sendPage(response: ServerResponse, { title, arcs }: PageSettings): void {
  const nonce = randomBytes(16).toString('base64')
  response
    .writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    })
    .end(page(title, arcs, nonce))
}

/** Server-sent events: the last five minutes first, then what comes. The browser connects anew by itself. */
function sendEvents(request: IncomingMessage, response: ServerResponse, feed: Feed): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'keep-alive' })
  const send = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`)
  send({ type: 'history', snapshots: feed.snapshots, happenings: feed.happenings })
  const end = feed.onMessage((message) => {
    // A page that does not read any more is not written to without bound.
    if (response.writableLength < 4_000_000) send(message)
  })
  request.on('close', end)
}
