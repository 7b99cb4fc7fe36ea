import { Duplex } from 'node:stream'
import type { Link } from './network.js'

/** The client's end of a simulated connection, as much like a `net.Socket` as node-redis needs. */
export class SimSocket extends Duplex {
  link: Link | undefined
  connecting = true
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = () => this.destroy(Object.assign(new Error('aborted'), { code: 'ABORT_ERR' }))

  constructor(signal: AbortSignal | undefined) {
    super({ allowHalfOpen: false })
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get remotePort(): number | undefined {
    return this.link?.address.port
  }

  get remoteAddress(): string | undefined {
    return this.link?.address.host
  }

  opened(): void {
    if (this.destroyed) return
    this.connecting = false
    this.emit('connect')
    this.emit('ready')
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.link?.up(chunk.toString('latin1'))
    done()
  }

  override _writev(chunks: readonly { chunk: Buffer }[], done: () => void): void {
    this.link?.up(chunks.map(({ chunk }) => chunk.toString('latin1')).join(''))
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.link?.closedByClient()
    done(error)
  }

  /** The pool bounds the opening by a timer of its own, which is the shorter one. */
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}
