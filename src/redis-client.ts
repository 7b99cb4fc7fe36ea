/* Longer than most: all that is used of node-redis goes through this one file. */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type {
  CommandParser,
  RedisArgument,
  RedisClient,
  RedisClientOptions,
  RedisClientType,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
} from 'redis'
import {
  AbortError,
  ClientClosedError,
  ClientOfflineError,
  createClient,
  defineScript,
  ErrorReply,
  MultiErrorReply,
  RESP_TYPES,
  WatchError,
} from 'redis'
import { type Address, formatAddress, normalizeHost } from './address.js'
import { onAbort } from './async/abort.js'
import { type Wire, wireOptions } from './joined-write.js'

export type {
  CommandParser,
  RedisArgument,
  RedisClient,
  RedisClientOptions,
  RedisClientType,
  RedisFunctions,
  RedisModules,
  RedisScripts,
  RespVersions,
  TypeMapping,
}
/**
 * The one door to node-redis: nothing else in `src` imports it. It opens connections that never reconnect by themselves
 * (DESIGN R3), always have an error listener (R17) and can be destroyed at any moment, also while they connect.
 */
export {
  AbortError,
  ClientClosedError,
  ClientOfflineError,
  defineScript,
  ErrorReply,
  MultiErrorReply,
  RESP_TYPES,
  WatchError,
}

/** node-redis client options that a pool takes: all but those that name one server or that the pool decides itself. */
export type ClientOptions<
  M extends RedisModules = RedisModules,
  F extends RedisFunctions = RedisFunctions,
  S extends RedisScripts = RedisScripts,
  RESP extends RespVersions = RespVersions,
  TM extends TypeMapping = TypeMapping,
> = Omit<
  RedisClientOptions<M, F, S, RESP, TM>,
  | 'url'
  | 'disableOfflineQueue'
  | 'commandsQueueMaxLength'
  | 'readonly'
  | 'clientSideCache'
  | 'emitInvalidate'
  | 'himportRegistry'
  | 'maintNotifications'
  | 'maintEndpointType'
  | 'maintRelaxedCommandTimeout'
  | 'maintRelaxedSocketTimeout'
>

export interface SendOptions {
  readonly typeMapping?: TypeMapping | undefined
  readonly abortSignal?: AbortSignal | undefined
  readonly timeout?: number | undefined
  readonly asap?: boolean | undefined
}

/** What the rooms use of a node-redis client. Users get the same object under node-redis's own full type. */
export interface NodeClient {
  sendCommand(args: readonly RedisArgument[], options?: SendOptions): Promise<unknown>
  subscribe(channels: string | string[], listener: (message: string, channel: string) => void): Promise<unknown>
  on(event: string, listener: (error: Error) => void): unknown
  readonly isReady: boolean
  readonly isPubSubActive: boolean
  readonly isWatching: boolean
}

/** A client as node-redis makes it, whatever its type parameters. */
export interface RawClient extends NodeClient {
  connect(): Promise<unknown>
  destroy(): void
  duplicate(options: RedisClientOptions): RawClient
}

export interface OpenSettings {
  /** Bound in ms on connecting and the whole handshake (TLS, HELLO, AUTH, SELECT, CLIENT SETNAME). */
  readonly timeoutMs: number
  /** Sent by CLIENT SETNAME, unless the options name one. */
  readonly name?: string | undefined
  /** Aborting destroys the socket at once and rejects the opening. */
  readonly signal?: AbortSignal | undefined
}

/** One live connection. It is open from birth until `onEnd` reports; it never comes back. */
export class Connection {
  readonly address: Address
  readonly client: NodeClient
  /** The host of `address` as it was looked up for this connection; the host itself where it is an IP. */
  readonly ips: readonly string[]
  readonly #raw: RawClient
  readonly #abort: AbortController
  readonly #wire: Wire
  #bytesRead = 0
  #bytesQueued = 0
  #listeners: ((cause: Error) => void)[] = []
  #cause: Error | undefined
  #lost = false

  /** Use `ConnectionFactory.open`. */
  constructor(address: Address, raw: RawClient, abort: AbortController, ips: readonly string[], wire: Wire) {
    this.address = address
    this.client = raw
    this.ips = ips
    this.#wire = wire
    this.#raw = raw
    this.#abort = abort
    raw.on('error', (error: Error) => this.#ended(error))
    raw.on('end', () => this.#ended(new Error('connection closed')))
  }

  get ended(): boolean {
    return this.#cause !== undefined
  }

  /** True when the other side, or the network, has ended it, and not we. */
  get lost(): boolean {
    return this.#lost
  }

  /** Why the connection ended; undefined while it lives. */
  get cause(): Error | undefined {
    return this.#cause
  }

  send(args: readonly RedisArgument[], options?: SendOptions): Promise<unknown> {
    return this.client.sendCommand(args, options)
  }

  /** True when bytes have come in or left since it was last asked. Never with TLS, whose socket is not seen. */
  moved(): boolean {
    const { socket } = this.#wire
    if (socket === undefined) return false
    // What the system has not taken yet; Node's own socket time-out goes by the same figure.
    const queued = (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0
    const moved = socket.bytesRead > this.#bytesRead || queued < this.#bytesQueued
    this.#bytesRead = socket.bytesRead
    this.#bytesQueued = queued
    return moved
  }

  #ended(cause: Error): void {
    if (this.#cause === undefined) this.#lost = true
    this.destroy(cause)
  }

  /** False with TLS, and until something was written: nothing but answers tells then what goes on. */
  get seen(): boolean {
    return this.#wire.socket !== undefined
  }

  /** The largest write since `forgetLargest`, in bytes: while that is on its way, nothing moves that could be seen. */
  get largestWrite(): number {
    return this.#wire.largest
  }

  forgetLargest(): void {
    this.#wire.largest = 0
  }

  /** Calls back once, in the same tick as the end; at once when it has ended already. Returns what takes it back. */
  onEnd(listener: (cause: Error) => void): () => void {
    if (this.#cause !== undefined) listener(this.#cause)
    else this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    }
  }

  /** Closes the socket now and rejects all that is in flight. Never QUIT: the other side may be frozen. Idempotent. */
  destroy(cause: Error = new Error('connection destroyed')): void {
    if (this.#cause !== undefined) return
    this.#cause = cause
    // node-redis drops a socket that is still connecting without closing it; the signal reaches it.
    this.#abort.abort()
    this.#raw.destroy()
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener(cause)
  }
}

/**
 * Makes connections of one kind: to data nodes or to sentinels. The two kinds hold their own credentials and TLS and never
 * see each other's (R8). The options are kept where no `inspect`, log or error can show them.
 */
export class ConnectionFactory {
  readonly #options: ClientOptions
  readonly #maxQueue: number | undefined
  #template: RawClient | undefined

  /** `maxQueue`: most commands that may be queued or in flight on one connection; absent: no bound. */
  constructor(options: ClientOptions = {}, maxQueue?: number) {
    this.#options = { ...options }
    this.#maxQueue = maxQueue
  }

  get keyPrefix(): RedisArgument | undefined {
    return this.#options.keyPrefix
  }

  get #hasSocketTimeout(): boolean {
    return (this.#options.socket as { socketTimeout?: number } | undefined)?.socketTimeout !== undefined
  }

  get database(): number {
    return this.#options.database ?? 0
  }

  get typeMapping(): TypeMapping | undefined {
    return this.#options.commandOptions?.typeMapping
  }

  /**
   * A node-redis client that is never connected and holds no credentials: its prototype carries every command with the
   * user's own additions, and `duplicate` makes clients of the same class.
   */
  template(): RawClient {
    this.#template ??= templateFor(this.#options)
    return this.#template
  }

  /**
   * Connects, shakes hands and resolves with a connection that is ready for commands.
   * Rejects with what the socket or the server said, or with an `ETIMEDOUT` error after `timeoutMs`; no socket is left.
   */
  async open(address: Address, settings: OpenSettings): Promise<Connection> {
    settings.signal?.throwIfAborted()
    const abort = new AbortController()
    const ips: string[] = isIP(address.host) === 0 ? [] : [address.host]
    const wire: Wire = { socket: undefined, largest: 0 }
    const raw = this.template().duplicate(this.#clientOptions(address, settings, abort.signal, ips, wire))
    const connection = new Connection(address, raw, abort, ips, wire)
    const timer = setTimeout(() => connection.destroy(timeoutError(address, settings.timeoutMs)), settings.timeoutMs)
    const { signal } = settings
    const stopListening = signal && onAbort(signal, () => connection.destroy(signal.reason as Error))
    try {
      await raw.connect()
      if (connection.cause) throw connection.cause
      // node-redis leaves its time-out of connecting on the socket, where nobody hears it: each write and read would wind up
      // that timer, and a second after the last one it would wake an idle process.
      if (!this.#hasSocketTimeout) wire.socket?.setTimeout(0)
      return connection
    } catch (error) {
      const cause = connection.cause ?? (error as Error)
      connection.destroy(cause)
      throw cause
    } finally {
      clearTimeout(timer)
      stopListening?.()
    }
  }

  #clientOptions(
    address: Address,
    settings: OpenSettings,
    signal: AbortSignal,
    ips: string[],
    wire: Wire,
  ): RedisClientOptions {
    const { socket, commandOptions, ...rest } = this.#options
    const { lookup } = (socket ?? {}) as { lookup?: LookupFunction }
    const own = {
      ...rest,
      ...(rest.name === undefined && settings.name !== undefined ? { name: settings.name } : {}),
      clientInfoTag: rest.clientInfoTag ?? 'sharded-sentinel-pool',
      maintNotifications: 'disabled',
      commandsQueueMaxLength: this.#maxQueue,
      // The others are one call's: `asap` would turn round what must stay in order (MULTI … EXEC, a fence behind its calls),
      // a signal would end the pool's own questions too. A default time-out costs node-redis one AbortSignal a command.
      commandOptions: { typeMapping: commandOptions?.typeMapping, timeout: undefined },
      socket: {
        ...socket,
        host: address.host,
        port: address.port,
        signal,
        lookup: recording(lookup ?? systemLookup, ips),
        ...wireOptions(wire),
        connectTimeout: Math.max(1, settings.timeoutMs),
        reconnectStrategy: false,
      },
    }
    return own as unknown as RedisClientOptions
  }
}

/** A name is looked up anew at each connect; what it was found to be is added to `ips`. */
function recording(lookup: LookupFunction, ips: string[]): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, found, family) => {
      if (!error) ips.push(...(typeof found === 'string' ? [found] : found.map(({ address }) => address)))
      callback(error, found, family)
    })
}

/**
 * Do two connections lead to one server, though it may be spelled differently (a name and an IP, two names)? Asks nobody. A
 * name with several addresses of one family may stand for several servers, and is never taken for one of them.
 */
export function isSameServer(a: Connection, b: Connection): boolean {
  if (a.address.port !== b.address.port || !isOneHost(a.ips) || !isOneHost(b.ips)) return false
  const known = b.ips.map(normalizeHost)
  return a.ips.some((ip) => known.includes(normalizeHost(ip)))
}

function isOneHost(ips: readonly string[]): boolean {
  return [4, 6].every((family) => ips.filter((ip) => isIP(ip) === family).length <= 1)
}

/** Templates without additions of a user, by RESP version: one class of node-redis for all pools of a process. */
const plainTemplates = new Map<RespVersions | undefined, RawClient>()
let templates = 0

/**
 * node-redis makes a class with hundreds of methods for every client whose options differ from those of the one before,
 * which takes it tens of milliseconds; and it compares options as JSON, which functions are not part of. So the class is
 * made once here, under a mark of its own, and clients are duplicates.
 */
function templateFor({ RESP, modules, functions, scripts }: ClientOptions): RawClient {
  const plain = modules === undefined && functions === undefined && scripts === undefined
  const known = plain ? plainTemplates.get(RESP) : undefined
  if (known !== undefined) return known
  const additions = { RESP, modules, functions, scripts, clientInfoTag: `template-${templates++}` }
  const given = Object.fromEntries(Object.entries(additions).filter(([, value]) => value !== undefined))
  const client = createClient({ ...given, maintNotifications: 'disabled' }) as unknown as RawClient
  client.on('error', () => {})
  // Unregisters it from node-redis's process-wide metrics list, which would keep it for ever.
  client.destroy()
  if (plain) plainTemplates.set(RESP, client)
  return client
}

/**
 * What node-redis finds only as it writes a command, checked for all parts of a call before any is sent. In its own words.
 * @throws TypeError
 */
export function assertEncodable(words: readonly unknown[]): void {
  for (let i = 0; i < words.length; i++) {
    const word = words[i]
    if (typeof word === 'string' || word instanceof Buffer) continue
    throw new TypeError(`"arguments[${i}]" must be of type "string | Buffer", got ${typeof word} instead.`)
  }
}

function timeoutError(address: Address, timeoutMs: number): Error {
  const error = new Error(`no connection to ${formatAddress(address)} within ${timeoutMs} ms`)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}

/**
 * A failure in a few words that hold no secret: the system's code (`ECONNREFUSED`), or the first line of what was said.
 * Server replies never repeat a password; node-redis's own messages never do either.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'ETIMEDOUT') return 'timeout'
  if (typeof code === 'string') return code
  return error instanceof Error ? error.message.split('\n', 1)[0]! : String(error)
}
