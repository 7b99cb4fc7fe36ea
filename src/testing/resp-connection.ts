import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Address, formatAddress } from '../address.js'
import { type CommandArgument, encodeCommand, type Reply, RespError, RespParser } from './resp-parser.js'
import { TopologyError } from './topology-error.js'

/** How to reach and enter one server. */
export interface RespTarget {
  readonly address: Address
  /** The CA in PEM; with it the connection is TLS. The host name is not checked: certificates may be wrong by wish. */
  readonly ca?: string | undefined
  /** Client certificate and key in PEM, where the server asks for one. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
}

/** A message that came over a subscription. */
export type MessageListener = (channel: string, message: string) => void

interface Pending {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: TopologyError) => void
  readonly timer: NodeJS.Timeout
}

/**
 * One connection to one server, for looking behind the library under test: no pool, no retry, no reconnect. A command
 * without an answer in time ends the connection, since a later answer could not be told from the next one.
 * The socket never keeps the process alive; a command in flight does, until its time is up.
 */
export class RespConnection {
  readonly #socket: Socket
  readonly #name: string
  readonly #parser = new RespParser()
  readonly #pending: Pending[] = []
  #ended: TopologyError | undefined
  onMessage: MessageListener | undefined
  onEnd: (() => void) | undefined

  /** Connects and authenticates. Throws `NOT_CONNECTED`, `COMMAND_TIMEOUT` or `ERROR_REPLY` (a wrong password). */
  static async open(target: RespTarget, timeoutMs: number): Promise<RespConnection> {
    const connection = new RespConnection(target)
    if (target.password !== undefined) {
      const login = target.username === undefined ? [target.password] : [target.username, target.password]
      try {
        await connection.command(['AUTH', ...login], timeoutMs)
      } catch (error) {
        connection.close()
        throw error
      }
    }
    return connection
  }

  private constructor(target: RespTarget) {
    const { host, port } = target.address
    this.#name = formatAddress(target.address)
    this.#socket =
      target.ca === undefined
        ? connectPlain({ host, port })
        : connectTls({
            host,
            port,
            ca: target.ca,
            ...(target.cert === undefined ? {} : { cert: target.cert }),
            ...(target.key === undefined ? {} : { key: target.key }),
            checkServerIdentity: () => undefined,
          })
    this.#socket.setNoDelay(true)
    this.#socket.unref()
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#socket.on('error', (cause) => this.#end(`no connection to ${this.#name} (${cause.message})`, cause))
    this.#socket.on('close', () => this.#end(`${this.#name} closed the connection`))
  }

  get ended(): boolean {
    return this.#ended !== undefined
  }

  command(args: readonly CommandArgument[], timeoutMs: number): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended)
      const timer = setTimeout(() => {
        const message = `${String(args[0])} had no answer from ${this.#name} within ${timeoutMs} ms`
        this.#fail(new TopologyError('COMMAND_TIMEOUT', message))
      }, timeoutMs)
      this.#pending.push({ resolve, reject, timer })
      this.#socket.write(encodeCommand(args))
    })
  }

  close(): void {
    this.#end(`the connection to ${this.#name} was closed`)
  }

  #read(chunk: Buffer): void {
    let replies: Reply[]
    try {
      replies = this.#parser.push(chunk)
    } catch (cause) {
      this.#end(`${this.#name} sent what is not RESP`, cause)
      return
    }
    for (const reply of replies) this.#take(reply)
  }

  #take(reply: Reply): void {
    if (this.onMessage && Array.isArray(reply) && (reply[0] === 'message' || reply[0] === 'pmessage')) {
      this.onMessage(String(reply.at(-2)), String(reply.at(-1)))
      return
    }
    const pending = this.#pending.shift()
    if (!pending) return
    clearTimeout(pending.timer)
    if (reply instanceof RespError) pending.reject(new TopologyError('ERROR_REPLY', reply.message))
    else pending.resolve(reply)
  }

  #end(message: string, cause?: unknown): void {
    this.#fail(new TopologyError('NOT_CONNECTED', message, { cause }))
  }

  #fail(error: TopologyError): void {
    if (this.#ended) return
    this.#ended = error
    this.#socket.destroy()
    for (const { reject, timer } of this.#pending.splice(0)) {
      clearTimeout(timer)
      reject(error)
    }
    this.onEnd?.()
  }
}
