import { connect, type Socket } from 'node:net'
import type { Address } from '../address.js'
import type { SubscriberTap } from './subscriber-tap.js'

/** `'held'`: nothing is read, bytes wait in the system's buffers. `'silent'`: what comes is thrown away, for ever. */
export type LinkState = 'pass' | 'held' | 'silent'

/** One proxied connection: the client's socket, the server's, and what lies between. */
export class ProxyLink {
  readonly #client: Socket
  readonly #target: Address
  readonly #tap: SubscriberTap | undefined
  readonly #up: Lane
  readonly #onClose: (link: ProxyLink) => void
  #down: Lane | undefined
  #server: Socket | undefined
  #state: LinkState
  #forged: Buffer[] = []

  constructor(settings: {
    client: Socket
    target: Address
    state: 'pass' | 'held'
    delayMs: number
    tap: SubscriberTap | undefined
    onClose: (link: ProxyLink) => void
  }) {
    this.#client = settings.client
    this.#target = settings.target
    this.#state = settings.state
    this.#tap = settings.tap
    this.#onClose = settings.onClose
    this.#up = new Lane(settings.client, settings.delayMs, (chunk) => this.#tap?.fromClient(chunk))
    this.#client.setNoDelay(true)
    this.#client.on('error', () => this.reset())
    this.#client.on('close', () => this.#clientGone())
    if (this.#state === 'pass') this.#connect()
  }

  set delayMs(ms: number) {
    this.#up.delayMs = ms
    if (this.#down) this.#down.delayMs = ms
  }

  /** Stops reading on both sides. A silent link stays silent. */
  hold(): void {
    if (this.#state !== 'pass') return
    this.#state = 'held'
    this.#up.hold()
    this.#down?.hold()
  }

  /** What was held back flows on. */
  release(): void {
    if (this.#state !== 'held') return
    this.#state = 'pass'
    if (this.#server) {
      this.#up.release()
      this.#down?.release()
    } else {
      this.#connect()
    }
  }

  silence(): void {
    this.#state = 'silent'
    this.#up.silence()
    this.#down?.silence()
  }

  /** Both sides are closed in the ordinary way. */
  destroy(): void {
    this.#up.stop()
    this.#down?.stop()
    this.#client.destroy()
    this.#server?.destroy()
    this.#onClose(this)
  }

  /** Both sides get a TCP reset. */
  reset(): void {
    resetSocket(this.#client)
    if (this.#server) resetSocket(this.#server)
    this.destroy()
  }

  /** Puts a message of the sentinel's among the real ones. False when this client has not subscribed to the channel. */
  forge(channel: string, message: string): boolean {
    const bytes = this.#state === 'pass' ? this.#tap?.forge(channel, message) : undefined
    if (!bytes) return false
    this.#forged.push(bytes)
    this.#flushForged()
    return true
  }

  #connect(): void {
    const server = connect(this.#target)
    server.unref()
    server.setNoDelay(true)
    this.#server = server
    this.#down = new Lane(server, this.#up.delayMs, (chunk) => this.#tap?.fromServer(chunk))
    this.#down.to(this.#client, () => this.#flushForged())
    this.#up.to(server)
    server.on('error', () => this.#state !== 'silent' && this.reset())
    server.on('close', () => this.#state !== 'silent' && this.destroy())
  }

  #clientGone(): void {
    // Nobody hears of it when the wire is cut: the server keeps its half of a silenced connection.
    if (this.#state !== 'silent') this.destroy()
  }

  #flushForged(): void {
    if (!this.#tap?.atBoundary) return
    for (const bytes of this.#forged.splice(0)) this.#client.write(bytes)
  }
}

/**
 * A handle cannot be reset while its shutdown is on its way (EINVAL). Node takes it for closed even so: the descriptor stays
 * open, and the process spins for ever when it comes to its end. Such a socket is closed in the ordinary way.
 */
function resetSocket(socket: Socket): void {
  const shutting = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (shutting) socket.destroy()
  else socket.resetAndDestroy()
}

/** One direction of a link. Keeps order and back-pressure, also when the delay changes under way. */
class Lane {
  delayMs: number
  readonly #from: Socket
  readonly #seen: (chunk: Buffer) => void
  readonly #waiting: { due: number; chunk: Buffer | null }[] = []
  #to: Socket | undefined
  #written: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #held = false
  #silent = false

  constructor(from: Socket, delayMs: number, seen: (chunk: Buffer) => void) {
    this.#from = from
    this.delayMs = delayMs
    this.#seen = seen
    from.pause()
  }

  to(socket: Socket, written?: () => void): void {
    this.#to = socket
    this.#written = written
    socket.on('drain', () => this.#held || this.#from.resume())
    this.#from.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#from.on('end', () => this.#take(null))
    this.#from.resume()
  }

  hold(): void {
    this.#held = true
    this.#from.pause()
  }

  release(): void {
    this.#held = false
    this.#from.resume()
    this.#flush()
  }

  silence(): void {
    this.#silent = true
    this.stop()
    this.#from.on('data', () => {})
    this.#from.on('end', () => this.#from.destroy())
    this.#from.resume()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#waiting.length = 0
  }

  #take(chunk: Buffer | null): void {
    if (this.#silent) return
    this.#waiting.push({ due: performance.now() + this.delayMs, chunk })
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    while (!this.#held && this.#waiting.length > 0) {
      const { due, chunk } = this.#waiting[0]!
      const left = due - performance.now()
      if (left > 0) {
        this.#timer = setTimeout(() => this.#flush(), Math.ceil(left))
        return
      }
      this.#waiting.shift()
      this.#write(chunk)
    }
  }

  #write(chunk: Buffer | null): void {
    const to = this.#to
    if (!to || to.destroyed) return
    if (chunk === null) {
      to.end()
      return
    }
    this.#seen(chunk)
    if (!to.write(chunk)) this.#from.pause()
    this.#written?.()
  }
}
