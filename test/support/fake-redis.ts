import type { Address } from '../../src/address.js'
import { type FakeConnection, type FakeReply, FakeRespServer } from './fake-resp-server.js'

/** A small Redis in this process, that can be told to be a replica, to refuse, to fall silent, or to break off in a reply. */
export class FakeRedis {
  readonly server = new FakeRespServer((command, connection) => this.#answer(command, connection))
  readonly data = new Map<string, string>()
  /** Of everything executed, in order. */
  readonly executed: string[][] = []
  role: 'master' | 'slave' = 'master'
  /** The error that data commands get instead of a reply. */
  refusal: string | undefined
  /** The same for PING and ROLE too, as a busy or loading server does. */
  refusesAll = false
  /** Only what names this key is refused, with TRYAGAIN. */
  refusesKey: string | undefined
  /** Answers nothing more, on connections old and new; what comes is still read. */
  silent = false
  /** Commands that are executed and never answered, nor is what comes after them on their connection. */
  readonly mute = new Set<string>()
  readonly #muted = new WeakSet<FakeConnection>()
  /** Data commands are executed, and their answer is cut off after so many bytes by a reset. */
  breaksAfter: number | undefined
  /** `EVAL <ms>` keeps it from answering anybody for so long; from so many ms on it says BUSY meanwhile, as Redis does. */
  busyReplyAfterMs = Number.POSITIVE_INFINITY
  #script: { readonly since: number; readonly held: [string[], FakeConnection][] } | undefined

  static async listen(role: 'master' | 'slave' = 'master'): Promise<FakeRedis> {
    const redis = new FakeRedis()
    redis.role = role
    await redis.server.listen()
    return redis
  }

  get address(): Address {
    return this.server.address
  }

  count(name: string): number {
    return this.executed.filter(([verb]) => verb === name).length
  }

  /** Cuts every connection, as a server that restarts. */
  cut(): void {
    for (const connection of this.server.connections) connection.destroy()
  }

  close(): Promise<void> {
    return this.server.close()
  }

  #answer(command: string[], connection: FakeConnection): FakeReply | undefined {
    if (this.silent || this.#muted.has(connection)) return undefined
    if (this.#script !== undefined) {
      if (performance.now() - this.#script.since >= this.busyReplyAfterMs) return new Error('BUSY Redis is busy')
      this.#script.held.push([command, connection])
      return undefined
    }
    const [verb] = command as [string, ...string[]]
    const own = verb === 'PING' || verb === 'ROLE'
    if (this.refusal !== undefined && (!own || this.refusesAll)) return new Error(this.refusal)
    if (this.refusesKey !== undefined && command[1] === this.refusesKey) return new Error('TRYAGAIN Try again')
    if (!own) this.executed.push(command)
    if (verb === 'EVAL') {
      this.#run(Number(command[1]), connection)
      return undefined
    }
    const reply = this.#execute(command)
    if (this.mute.has(verb)) {
      this.#muted.add(connection)
      return undefined
    }
    if (own || this.breaksAfter === undefined) return reply
    connection.raw(`$${String(reply).length}\r\n${String(reply)}\r\n`.slice(0, this.breaksAfter))
    setImmediate(() => connection.destroy())
    return undefined
  }

  #run(ms: number, connection: FakeConnection): void {
    const held: [string[], FakeConnection][] = []
    this.#script = { since: performance.now(), held }
    setTimeout(() => {
      this.#script = undefined
      connection.send('done')
      for (const [command, from] of held) {
        const reply = this.#answer(command, from)
        if (reply !== undefined) from.send(reply)
      }
    }, ms).unref()
  }

  #execute([verb, key, value]: string[]): FakeReply | undefined {
    switch (verb) {
      case 'PING':
        return 'PONG'
      case 'ROLE':
        return this.role === 'master' ? ['master', 0, []] : ['slave', '127.0.0.1', 1, 'connected', 0]
      case 'SET':
        this.data.set(key!, value!)
        return 'OK'
      case 'GET':
        return this.data.get(key!) ?? null
      case 'INCR': {
        const next = Number(this.data.get(key!) ?? 0) + 1
        this.data.set(key!, String(next))
        return next
      }
      case 'BLPOP':
        return undefined
      default:
        return new Error(`ERR unknown command '${verb}'`)
    }
  }
}
