import net from 'node:net'
import type { Address } from '../../src/address.js'
import type { Random } from './random.js'
import { SimSocket } from './sim-socket.js'
import type { VirtualTime } from './virtual-time.js'

/** The server's end of a connection. */
export interface ServerEnd {
  onData(text: string): void
  onClose(): void
}

/** How the world treats the packets of one server. */
export interface Host {
  /** Undefined: nobody listens, connections are refused. */
  accept: ((link: Link) => ServerEnd) | undefined
  /** No packet moves either way; all of them come when it ends, as after a broken network is mended. */
  blackhole: boolean
  /** Added to every packet, in ms. */
  extraMs: number
}

/** One TCP connection: bytes keep their order, each way has its own delay. */
export class Link {
  readonly id: number
  readonly address: Address
  readonly socket: SimSocket
  /** What the client called itself by CLIENT SETNAME. */
  name = ''
  /** Packets of this connection are lost for ever and nobody is told: a NAT box forgot it. */
  silent = false
  /** Its server has said on it that it is a master. */
  saidMaster = false
  server: ServerEnd | undefined
  readonly #network: SimNetwork
  readonly #host: Host
  #upAt = 0
  #downAt = 0
  #held: (() => void)[] = []

  constructor(network: SimNetwork, id: number, address: Address, host: Host, socket: SimSocket) {
    this.#network = network
    this.id = id
    this.address = address
    this.#host = host
    this.socket = socket
  }

  /** Bytes from the client. */
  up(text: string): void {
    this.#network.onClientWrite?.(this, text)
    this.#network.onPacket?.(this, '>', text)
    this.#carry('up', () => this.server?.onData(text))
  }

  /** Bytes from the server. `delivered` is called when they reach the client. */
  down(text: string, delivered?: () => void): void {
    this.#carry('down', () => {
      delivered?.()
      this.#network.onPacket?.(this, '<', text)
      if (!this.socket.destroyed) this.socket.push(Buffer.from(text, 'latin1'))
    })
  }

  /** The client has closed its end. */
  closedByClient(): void {
    this.#network.open.delete(this)
    this.#carry('up', () => this.#endServer())
  }

  /** FIN: what was sent before still arrives. */
  end(): void {
    this.#endServer()
    this.#carry('down', () => {
      if (!this.socket.destroyed) this.socket.push(null)
    })
  }

  /** RST: the client learns of it at once, or as soon as packets move again. */
  reset(): void {
    this.#endServer()
    this.#carry('down', () => this.socket.destroy(systemError('ECONNRESET')))
  }

  /** Packets move again. */
  release(): void {
    const held = this.#held
    this.#held = []
    for (const deliver of held) deliver()
  }

  #endServer(): void {
    const { server } = this
    this.server = undefined
    server?.onClose()
  }

  #carry(way: 'up' | 'down', deliver: () => void): void {
    if (this.silent) return
    if (this.#host.blackhole) {
      this.#held.push(() => this.#carry(way, deliver))
      return
    }
    const { time, random } = this.#network
    const arrival = time.now + random.between(0.05, 0.6) + this.#host.extraMs
    const last = way === 'up' ? this.#upAt : this.#downAt
    const at = Math.max(arrival, last)
    if (way === 'up') this.#upAt = at
    else this.#downAt = at
    time.at(at, () => {
      if (this.silent) return
      if (this.#host.blackhole) this.#held.push(deliver)
      else deliver()
    })
  }
}

/** Replaces `net.createConnection` for as long as it is installed: no packet of a simulated run leaves the process. */
export class SimNetwork {
  readonly time: VirtualTime
  readonly random: Random
  /** Connections whose client end is open, connecting ones too. */
  readonly open = new Set<Link>()
  onClientWrite: ((link: Link, text: string) => void) | undefined
  /** For a trace of every packet: `>` as it leaves the client, `<` as it reaches it. */
  onPacket: ((link: Link, way: '>' | '<', text: string) => void) | undefined
  readonly #hosts = new Map<number, Host>()
  readonly #real = net.createConnection
  /** How many connections there have been. */
  links = 0

  constructor(time: VirtualTime, random: Random) {
    this.time = time
    this.random = random
  }

  install(): void {
    net.createConnection = ((options: { host: string; port: number; signal?: AbortSignal }) =>
      this.#connect(options)) as unknown as typeof net.createConnection
  }

  uninstall(): void {
    net.createConnection = this.#real
  }

  host(port: number): Host {
    const host: Host = { accept: undefined, blackhole: false, extraMs: 0 }
    this.#hosts.set(port, host)
    return host
  }

  /** Ends a blackhole. */
  mend(host: Host, links: Iterable<Link>): void {
    host.blackhole = false
    for (const link of [...links]) link.release()
  }

  #connect({ host: ip, port, signal }: { host: string; port: number; signal?: AbortSignal }): SimSocket {
    const host = this.#hosts.get(port)
    const socket = new SimSocket(signal)
    if (host === undefined) {
      this.time.after(0.1, () => socket.destroy(systemError('ECONNREFUSED')))
      return socket
    }
    const link = new Link(this, this.links++, { host: ip, port }, host, socket)
    socket.link = link
    this.open.add(link)
    const knock = () => {
      if (socket.destroyed) return
      // A SYN is sent again and again: it arrives when the network is mended.
      if (host.blackhole) this.time.after(50, knock)
      else if (host.accept === undefined) socket.destroy(systemError('ECONNREFUSED'))
      else {
        link.server = host.accept(link)
        socket.opened()
      }
    }
    this.time.after(this.random.between(0.1, 0.8) + host.extraMs, knock)
    return socket
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`simulated ${code}`), { code })
}
