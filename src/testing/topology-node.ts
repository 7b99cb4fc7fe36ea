import { type Address, formatAddress } from '../address.js'
import type { ProcessState, RedisProcess } from './redis-process.js'
import { type MessageListener, RespConnection, type RespTarget } from './resp-connection.js'
import type { CommandArgument, Reply } from './resp-parser.js'
import { type NodeRole, parseRole } from './role.js'
import { TopologyError } from './topology-error.js'
import { type Seen, waitUntil } from './wait.js'

export interface TopologyNodeSettings {
  readonly kind: 'data' | 'sentinel'
  readonly label: string
  readonly shard?: string | undefined
  readonly index: number
  /** Where other servers reach it, when that is not the client's door. */
  readonly peerPort?: number | undefined
  readonly target: RespTarget
  readonly process: RedisProcess
  readonly folder: string
}

const COMMAND_TIMEOUT_MS = 2_000
const START_TIMEOUT_MS = 15_000
const END_TIMEOUT_MS = 15_000

/** Handle of one `redis-server`, data node or sentinel: its address, its process, and a way to ask that very server. */
export class TopologyNode {
  readonly kind: 'data' | 'sentinel'
  /** Name for people: `cache-b/0`, `sentinel/2`. */
  readonly label: string
  /** Name of the master it was started under; undefined for a sentinel. */
  readonly shard: string | undefined
  /** Within its shard, 0 being the first master; or among the sentinels. */
  readonly index: number
  readonly host: string
  readonly port: number
  /** The port other servers know a sentinel by. Differs from `port` only where TLS is on for one kind of server. */
  readonly peerPort: number
  /** Its folder, with the configuration file and `server.log`. Gone after `close`. */
  readonly folder: string
  readonly #target: RespTarget
  readonly #process: RedisProcess
  readonly #subscriptions = new Set<RespConnection>()
  #connection: Promise<RespConnection> | undefined

  constructor(settings: TopologyNodeSettings) {
    this.kind = settings.kind
    this.label = settings.label
    this.shard = settings.shard
    this.index = settings.index
    this.host = settings.target.address.host
    this.port = settings.target.address.port
    this.peerPort = settings.peerPort ?? this.port
    this.folder = settings.folder
    this.#target = settings.target
    this.#process = settings.process
  }

  /** The server's own address, without any proxy. */
  get address(): Address {
    return { host: this.host, port: this.port }
  }

  /** `'up'`, `'frozen'` (SIGSTOP) or `'down'`. */
  get state(): ProcessState {
    return this.#process.state
  }

  /** Undefined while it is down. */
  get pid(): number | undefined {
    return this.#process.pid
  }

  /**
   * Asks this server, as a user that may do everything: `await node.command('GET', 'user:1')`. Throws `TopologyError`
   * with `ERROR_REPLY` (the message is the reply), `NOT_CONNECTED`, or `COMMAND_TIMEOUT` after 2 s, as on a frozen node.
   */
  async command(...args: readonly CommandArgument[]): Promise<Reply> {
    if (this.state === 'down') throw new TopologyError('NOT_CONNECTED', `${this} is down`)
    const connection = await this.#connect()
    return connection.command(args, COMMAND_TIMEOUT_MS)
  }

  /** What the server says of itself with ROLE. Throws like `command`. */
  async role(): Promise<NodeRole> {
    return parseRole(await this.command('ROLE'))
  }

  /**
   * Hears every message whose channel matches the pattern (`'+switch-master'`, `'*'`), on a connection of its own, until
   * the function returned is called, the server ends or the topology is closed. Throws like `command`.
   */
  async subscribe(pattern: string, listener: MessageListener): Promise<() => void> {
    const connection = await RespConnection.open(this.#target, COMMAND_TIMEOUT_MS)
    connection.onMessage = listener
    connection.onEnd = () => this.#subscriptions.delete(connection)
    this.#subscriptions.add(connection)
    await connection.command(['PSUBSCRIBE', pattern], COMMAND_TIMEOUT_MS)
    return () => connection.close()
  }

  /** SIGKILL, as `kill -9`; resolves when the process is gone. On a node that is down it does nothing. */
  kill(): Promise<void> {
    return this.#process.end('SIGKILL', END_TIMEOUT_MS)
  }

  /** SIGTERM, on which Redis closes its connections and ends; resolves when the process is gone. */
  shutdown(): Promise<void> {
    this.cont()
    return this.#process.end('SIGTERM', END_TIMEOUT_MS)
  }

  /** SIGSTOP: the sockets stay open, new connections are even accepted by the system, and nothing is answered. */
  freeze(): void {
    this.#process.freeze()
  }

  /** SIGCONT: goes on where it was frozen. On a node that is not frozen it does nothing. */
  cont(): void {
    this.#process.cont()
  }

  /**
   * Starts it again on the same port with the same configuration file, as the server or Sentinel may have rewritten it;
   * kills it first if it still runs. Resolves when it answers. Data is gone: nothing is kept on disk.
   * Throws `START_FAILED` with its log when it ends, `WAIT_TIMEOUT` when it does not answer.
   */
  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  /** Starts the process and resolves when it answers; at once when it already runs. Throws like `restart`. */
  async start(timeoutMs: number = START_TIMEOUT_MS, signal?: AbortSignal): Promise<void> {
    await this.#process.start()
    await waitUntil(
      { what: `${this} to answer`, timeoutMs, intervalMs: 5, signal, evidence: () => this.logTail() },
      () => this.#answers(),
    )
  }

  /** The last lines of its log. @param lines default 20 */
  logTail(lines = 20): string {
    return this.#process.logTail(lines)
  }

  /** For the end of the host process: no waiting. */
  killNow(): void {
    this.#process.killNow()
  }

  /** Kills it for good and closes the connections to it; `restart` then throws `CLOSED`. For `topology.close`. */
  async retire(): Promise<void> {
    for (const connection of this.#subscriptions) connection.close()
    this.#connection?.then(
      (connection) => connection.close(),
      () => {},
    )
    await this.#process.retire(END_TIMEOUT_MS)
  }

  toString(): string {
    return `${this.label} (${formatAddress(this.address)})`
  }

  async #answers(): Promise<Seen<true>> {
    if (this.state === 'down')
      throw new TopologyError('START_FAILED', `${this} ended while it was started\n${this.logTail()}`)
    const reply = await this.command('PING')
    return reply === 'PONG' ? { ready: true } : { missing: `PING was answered with ${String(reply)}` }
  }

  #connect(): Promise<RespConnection> {
    if (this.#connection) return this.#connection
    const opening = RespConnection.open(this.#target, COMMAND_TIMEOUT_MS)
    this.#connection = opening
    const forget = () => {
      if (this.#connection === opening) this.#connection = undefined
    }
    opening.then((connection) => {
      connection.onEnd = forget
      if (connection.ended) forget()
    }, forget)
    return opening
  }
}
