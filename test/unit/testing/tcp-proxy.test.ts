import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { TcpProxy } from '../../../src/testing/tcp-proxy.js'

describe('TcpProxy', () => {
  let echo: Server
  let proxy: TcpProxy
  let atServer: Socket[]
  let clients: Socket[]

  beforeEach(async () => {
    atServer = []
    clients = []
    echo = createServer((socket) => {
      atServer.push(socket)
      socket.on('error', () => {})
      socket.pipe(socket)
    })
    echo.listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const address = echo.address()
    assert.ok(address && typeof address === 'object')
    proxy = await TcpProxy.listen({ target: { host: '127.0.0.1', port: address.port } })
  })

  afterEach(async () => {
    for (const socket of [...clients, ...atServer]) socket.destroy()
    await proxy.close()
    echo.close()
    assert.equal(proxy.stats.open, 0)
  })

  async function open(): Promise<Socket> {
    const socket = connect(proxy.address)
    socket.on('error', () => {})
    clients.push(socket)
    await once(socket, 'connect')
    return socket
  }

  async function ask(socket: Socket, text: string): Promise<string> {
    let heard = ''
    const done = new Promise<string>((resolve) => {
      socket.on('data', function more(chunk: Buffer) {
        heard += chunk.toString()
        if (heard.length < text.length) return
        socket.off('data', more)
        resolve(heard)
      })
    })
    socket.write(text)
    return done
  }

  /** Proves silence: nothing came of `socket` although a whole round trip through another one has been made since. */
  async function hearsNothing(socket: Socket, through: () => Promise<unknown>): Promise<void> {
    let heard = ''
    const listen = (chunk: Buffer) => {
      heard += chunk.toString()
    }
    socket.on('data', listen)
    await through()
    socket.off('data', listen)
    assert.equal(heard, '')
  }

  const directly = async () => {
    const socket = connect(proxy.target)
    clients.push(socket)
    await once(socket, 'connect')
    await ask(socket, 'round trip')
  }

  const ended = (socket: Socket) => (socket.closed ? Promise.resolve() : once(socket, 'close'))

  it('passes bytes both ways and counts connections', async () => {
    const socket = await open()
    assert.equal(await ask(socket, 'hello'), 'hello')
    assert.deepEqual(proxy.stats, { open: 1, accepted: 1 })
    const long = 'x'.repeat(3_000_000)
    assert.equal((await ask(socket, long)).length, long.length)
    socket.end()
    await ended(socket)
    assert.equal(proxy.stats.open, 0)
  })

  it('refuse: new connections get ECONNREFUSED, open ones go on, and pass() listens at the same port again', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    const { port } = proxy.address
    await proxy.refuse()
    await assert.rejects(once(connect(proxy.address), 'connect'), { code: 'ECONNREFUSED' })
    assert.equal(await ask(socket, 'still here'), 'still here')
    await proxy.pass()
    assert.equal(proxy.address.port, port)
    assert.equal(await ask(await open(), 'back'), 'back')
  })

  it('blackhole: old and new connections stay open and silent, and what was held arrives after pass()', async () => {
    const old = await open()
    await ask(old, 'warm')
    await proxy.blackhole()
    const fresh = await open()
    old.write('one')
    fresh.write('two')
    await hearsNothing(old, () => hearsNothing(fresh, directly))
    const answers = Promise.all([once(old, 'data'), once(fresh, 'data')])
    await proxy.pass()
    assert.deepEqual(
      (await answers).map(([chunk]) => String(chunk)),
      ['one', 'two'],
    )
  })

  it('delay: bytes come later in each direction, in order, also when the delay ends in between', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    proxy.delay(40)
    const start = performance.now()
    assert.equal(await ask(socket, 'slow'), 'slow')
    assert.ok(performance.now() - start >= 78, 'two times 40 ms')
    const answer = ask(socket, 'ab')
    proxy.delay(0)
    assert.equal(await answer, 'ab')
    const quick = performance.now()
    await ask(socket, 'quick')
    assert.ok(performance.now() - quick < 40)
  })

  it('drop: every open connection is closed on both sides, new ones pass', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    const both = Promise.all([ended(socket), ended(atServer[0]!)])
    assert.equal(proxy.drop(), 1)
    await both
    assert.equal(await ask(await open(), 'new'), 'new')
  })

  it('reset: the client sees ECONNRESET', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    const failed = once(socket, 'error')
    proxy.reset()
    assert.equal(((await failed)[0] as NodeJS.ErrnoException).code, 'ECONNRESET')
  })

  it('silence: open connections are dead for good and nobody is told, new ones pass', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    assert.equal(proxy.silence(), 1)
    socket.write('lost')
    await hearsNothing(socket, directly)
    assert.equal(socket.closed, false)
    assert.equal(await ask(await open(), 'new'), 'new')
    await proxy.blackhole()
    await proxy.pass()
    await hearsNothing(socket, directly)
    socket.destroy()
    await hearsNothing(atServer[0]!, directly)
    assert.equal(atServer[0]!.closed, false)
  })

  it('hands on the end of either side', async () => {
    const socket = await open()
    await ask(socket, 'warm')
    const gone = ended(atServer[0]!)
    socket.destroy()
    await gone
    const second = await open()
    await ask(second, 'warm')
    atServer[1]!.destroy()
    second.resume()
    await ended(second)
  })

  it('resets a client whose server is down', async () => {
    const closed = once(echo, 'close')
    echo.close()
    await closed
    const socket = connect(proxy.address)
    const [error] = await once(socket, 'error')
    assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET')
  })

  it('rejects where its port is taken', async () => {
    await assert.rejects(TcpProxy.listen({ target: proxy.target, port: proxy.address.port }), { code: 'EADDRINUSE' })
  })
})
