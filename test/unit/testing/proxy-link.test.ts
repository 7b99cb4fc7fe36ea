import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { ProxyLink } from '../../../src/testing/proxy-link.js'

test('a link that is reset while one side is being shut down leaves no socket open, so the process can end', async (t) => {
  const target = createServer((socket) => socket.end())
  const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true })
  for (const server of [target, listener]) {
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
  }
  const portOf = (server: typeof target) => (server.address() as { port: number }).port
  const outside = connect(portOf(listener), '127.0.0.1')
  t.after(() => outside.destroy())
  const [client] = (await once(listener, 'connection')) as [Socket]
  const link = new ProxyLink({
    client,
    target: { host: '127.0.0.1', port: portOf(target) },
    state: 'pass',
    delayMs: 0,
    tap: undefined,
    onClose: () => {},
  })
  const errors: Error[] = []
  client.on('error', (error) => errors.push(error))
  const closed = once(client, 'close', { signal: AbortSignal.timeout(2_000) })
  // The target has ended: the client's side is shut down two ticks after this, and known to be only a loop later.
  const end = client.end
  client.end = ((...args: Parameters<typeof end>) => {
    process.nextTick(() => process.nextTick(() => link.reset()))
    return end.apply(client, args)
  }) as typeof end
  await closed
  assert.deepEqual(errors, [])
})
