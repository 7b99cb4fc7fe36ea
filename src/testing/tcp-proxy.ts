import { createServer, type Server, type Socket } from 'node:net'
import type { Address } from '../address.js'
import { ProxyLink } from './proxy-link.js'
import type { SubscriberTap } from './subscriber-tap.js'

/**
 * - `'pass'`: bytes go through.
 * - `'refuse'`: new connections get ECONNREFUSED; those that are open go on. With `drop()` it is a server that is down.
 * - `'blackhole'`: connections open, new ones are accepted, and no byte moves either way until `pass()`, when all that was
 *   held back arrives, as after a broken network is mended.
 */
export type ProxyMode = 'pass' | 'refuse' | 'blackhole'

/** What has gone through a proxy. */
export interface ProxyStats {
  /** Client connections that are open now. In `blackhole` a client that left is seen only after `pass()`. */
  readonly open: number
  /** Client connections accepted since the start. */
  readonly accepted: number
}

/** Where a proxy leads to. */
export interface TcpProxySettings {
  readonly target: Address
  /** @default the target's host */
  readonly host?: string
  /** @default a free one */
  readonly port?: number
  /** Makes the tap of each connection, for `forge`. @default none */
  readonly tap?: () => SubscriberTap
}

/**
 * A TCP proxy before one server, that can fail on demand. It runs in this process and does not keep it alive. A target that
 * is down shows as a connection that is accepted and then reset.
 */
export class TcpProxy {
  readonly target: Address
  readonly #host: string
  readonly #tap: (() => SubscriberTap) | undefined
  readonly #links = new Set<ProxyLink>()
  #port: number
  #server: Server | undefined
  #mode: ProxyMode = 'pass'
  #delayMs = 0
  #accepted = 0

  /** Resolves when it listens. Rejects with the system's error where the port is taken. */
  static async listen(settings: TcpProxySettings): Promise<TcpProxy> {
    const proxy = new TcpProxy(settings)
    await proxy.#open()
    return proxy
  }

  private constructor(settings: TcpProxySettings) {
    this.target = settings.target
    this.#host = settings.host ?? settings.target.host
    this.#port = settings.port ?? 0
    this.#tap = settings.tap
  }

  /** Where clients connect. Stays the same through all modes. */
  get address(): Address {
    return { host: this.#host, port: this.#port }
  }

  get mode(): ProxyMode {
    return this.#mode
  }

  get stats(): ProxyStats {
    return { open: this.#links.size, accepted: this.#accepted }
  }

  async pass(): Promise<void> {
    this.#mode = 'pass'
    for (const link of this.#links) link.release()
    await this.#open()
  }

  async refuse(): Promise<void> {
    this.#mode = 'refuse'
    for (const link of this.#links) link.release()
    this.#server?.close()
    this.#server = undefined
  }

  async blackhole(): Promise<void> {
    this.#mode = 'blackhole'
    for (const link of this.#links) link.hold()
    await this.#open()
  }

  /** Each byte comes `ms` later, in each direction; 0 ends it. Applies to open connections and new ones, beside any mode. */
  delay(ms: number): void {
    this.#delayMs = ms
    for (const link of this.#links) link.delayMs = ms
  }

  /** Closes all open connections in the ordinary way (FIN); returns how many. New ones are treated by the mode. */
  drop(): number {
    return this.#each((link) => link.destroy())
  }

  /** Resets all open connections (RST); returns how many. */
  reset(): number {
    return this.#each((link) => link.reset())
  }

  /**
   * Open connections are dead from now on and nobody is told, as when a NAT box forgets them: what either side sends is
   * lost, for ever. New connections are treated by the mode. Returns how many.
   */
  silence(): number {
    return this.#each((link) => link.silence())
  }

  /**
   * Sends subscribers of the channel a message that the server never sent; returns how many clients get it. Only with a
   * `tap`, as the proxies before sentinels have it, and not through TLS.
   */
  forge(channel: string, message: string): number {
    let reached = 0
    for (const link of this.#links) if (link.forge(channel, message)) reached++
    return reached
  }

  /** Ends the listener and all connections. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = server ? new Promise<void>((resolve) => server.close(() => resolve())) : Promise.resolve()
    this.drop()
    await closed
  }

  #each(action: (link: ProxyLink) => void): number {
    const links = [...this.#links]
    for (const link of links) action(link)
    return links.length
  }

  #open(): Promise<void> {
    if (this.#server) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#accept(socket))
      this.#server = server
      server.once('error', reject)
      server.listen({ host: this.#host, port: this.#port, exclusive: true }, () => {
        server.unref()
        const address = server.address()
        if (address && typeof address === 'object') this.#port = address.port
        resolve()
      })
    })
  }

  #accept(client: Socket): void {
    this.#accepted++
    client.unref()
    const link = new ProxyLink({
      client,
      target: this.target,
      state: this.#mode === 'blackhole' ? 'held' : 'pass',
      delayMs: this.#delayMs,
      tap: this.#tap?.(),
      onClose: (gone) => this.#links.delete(gone),
    })
    this.#links.add(link)
  }
}
