/** Express with its sessions on the shards: a visitor keeps the session through the failover of its shard. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { RedisStore } from 'connect-redis'
import express from 'express'
import session from 'express-session'
import { healthOf, ShardedSentinelPool } from './library.js'
import { topology } from './topology.js'

declare module 'express-session' {
  interface SessionData {
    views: number
  }
}

const pool = new ShardedSentinelPool(topology)
await pool.connect()

const app = express()
app.get('/ready', (_, response) => {
  response.sendStatus(healthOf(pool).ready ? 200 : 503)
})
app.use(
  session({
    store: new RedisStore({ client: pool as never, prefix: 'session:', ttl: 3_600 }),
    secret: process.env.SESSION_SECRET ?? 'only for this example',
    resave: false,
    saveUninitialized: false,
  }),
)
app.get('/', (request, response) => {
  request.session.views = (request.session.views ?? 0) + 1
  response.send(`visit ${request.session.views}, kept on ${pool.locate(`session:${request.sessionID}`)}`)
})

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1')
await once(server, 'listening')
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)

process.once('SIGTERM', async () => {
  server.close()
  server.closeIdleConnections()
  await once(server, 'close')
  await pool.close()
  console.log('closed')
})
