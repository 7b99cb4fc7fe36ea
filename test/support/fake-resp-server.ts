import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Address } from '../../src/address.js'

/** What a fake may answer: text, number, null, list, map, or an Error for an error reply. `undefined`: no answer at all. */
export type FakeReply = string | number | null | readonly FakeReply[] | Map<string, FakeReply> | Error

export class FakeConnection {
  /** Commands as they came, the first word in upper case. */
  readonly commands: string[][] = []
  resp3 = false
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
  }

  send(reply: FakeReply): void {
    if (!this.#socket.destroyed) this.#socket.write(encode(reply, this.resp3))
  }

  /** An out-of-band message, as pub/sub uses it. */
  push(words: readonly FakeReply[]): void {
    const text = encode(words, this.resp3)
    if (!this.#socket.destroyed) this.#socket.write(this.resp3 ? `>${text.slice(1)}` : text)
  }

  raw(text: string): void {
    this.#socket.write(text)
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** A RESP server in this process whose every answer is written by the test. HELLO and CLIENT are answered by itself. */
export class FakeRespServer {
  /** Open connections. */
  readonly connections = new Set<FakeConnection>()
  /** Every connection ever accepted. */
  accepted = 0
  /** Reads nothing and answers nothing, on old and new connections. */
  frozen = false
  readonly #handle: (command: string[], connection: FakeConnection) => FakeReply | undefined
  #server: Server | undefined
  #address: Address | undefined

  constructor(handle: (command: string[], connection: FakeConnection) => FakeReply | undefined) {
    this.#handle = handle
  }

  get address(): Address {
    if (this.#address === undefined) throw new Error('not listening')
    return this.#address
  }

  /** Commands of all connections that are open, handshake left out. */
  get commands(): string[][] {
    return [...this.connections].flatMap((c) => c.commands)
  }

  /** Listens on a free port, or again on the one it had. */
  async listen(port = this.#address?.port ?? 0): Promise<this> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    this.#server = server
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const bound = server.address()
    if (bound === null || typeof bound === 'string') throw new Error('no port')
    this.#address = { host: '127.0.0.1', port: bound.port }
    return this
  }

  /** Cuts every connection and stops listening. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const connection of this.connections) connection.destroy()
    if (server === undefined) return
    server.close()
    await once(server, 'close')
  }

  #accept(socket: Socket): void {
    const connection = new FakeConnection(socket)
    this.accepted++
    this.connections.add(connection)
    let pending = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => this.connections.delete(connection))
    socket.on('data', (chunk: Buffer) => {
      if (this.frozen) return
      pending = Buffer.concat([pending, chunk])
      for (;;) {
        const parsed = parseCommand(pending)
        if (parsed === undefined) return
        pending = pending.subarray(parsed.length)
        this.#answer(parsed.words, connection)
      }
    })
  }

  #answer(words: string[], connection: FakeConnection): void {
    const command = [words[0]!.toUpperCase(), ...words.slice(1)]
    if (command[0] === 'HELLO') {
      connection.resp3 = command[1] === '3'
      connection.send(
        new Map<string, FakeReply>([
          ['server', 'redis'],
          ['proto', Number(command[1] ?? 2)],
        ]),
      )
      return
    }
    if (command[0] === 'CLIENT') {
      connection.send('OK')
      return
    }
    connection.commands.push(command)
    const reply = this.#handle(command, connection)
    if (reply !== undefined) connection.send(reply)
  }
}

function parseCommand(buffer: Buffer): { words: string[]; length: number } | undefined {
  const head = buffer.indexOf('\r\n')
  if (head < 0) return undefined
  const words: string[] = []
  let at = head + 2
  for (let left = Number(buffer.toString('latin1', 1, head)); left > 0; left--) {
    const end = buffer.indexOf('\r\n', at)
    if (end < 0) return undefined
    const length = Number(buffer.toString('latin1', at + 1, end))
    if (buffer.length < end + 2 + length + 2) return undefined
    words.push(buffer.toString('utf8', end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
  return { words, length: at }
}

function encode(reply: FakeReply, resp3: boolean): string {
  if (reply === null) return resp3 ? '_\r\n' : '$-1\r\n'
  if (typeof reply === 'string') return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (reply instanceof Error) return `-${reply.message}\r\n`
  if (reply instanceof Map) {
    const flat = [...reply].flat() as FakeReply[]
    const body = flat.map((r) => encode(r, resp3)).join('')
    return resp3 ? `%${reply.size}\r\n${body}` : `*${flat.length}\r\n${body}`
  }
  return `*${reply.length}\r\n${reply.map((r) => encode(r, resp3)).join('')}`
}
