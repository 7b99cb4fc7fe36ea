import type { Address } from '../../src/address.js'
import { type FakeConnection, type FakeReply, FakeRespServer } from './fake-resp-server.js'

export interface FakeMaster {
  address: Address
  epoch: number
  flags?: string
  /** Addresses that SENTINEL REPLICAS lists, all of them well. */
  replicas?: readonly Address[]
}

let ids = 0

/** A sentinel that says what the test tells it to, also what no true one would. */
export class FakeSentinel {
  readonly server = new FakeRespServer((command, connection) => this.#answer(command, connection))
  readonly masters = new Map<string, FakeMaster>()
  readonly peers: { address: Address; runId: string }[] = []
  /** Commands answered with NOPERM: `SUBSCRIBE`, `SENTINEL MASTER` … */
  readonly denied = new Set<string>()
  /** Answers each question only after this time, in ms. */
  delayMs = 0
  readonly runId: string
  readonly #subscribers = new Set<FakeConnection>()

  constructor(runId = `run-${++ids}`) {
    this.runId = runId
  }

  static async listen(masters: Record<string, FakeMaster> = {}, runId?: string): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(runId)
    for (const [name, master] of Object.entries(masters)) sentinel.masters.set(name, master)
    await sentinel.server.listen()
    return sentinel
  }

  get address(): Address {
    return this.server.address
  }

  /** Connections that are subscribed now. */
  get subscribers(): number {
    return [...this.#subscribers].filter((c) => this.server.connections.has(c)).length
  }

  publish(channel: string, message: string): void {
    for (const connection of this.#subscribers) connection.push(['message', channel, message])
  }

  close(): Promise<void> {
    return this.server.close()
  }

  #answer(command: string[], connection: FakeConnection): FakeReply | undefined {
    const reply = this.#reply(command, connection)
    if (this.delayMs === 0 || reply === undefined) return reply
    setTimeout(() => connection.send(reply), this.delayMs)
    return undefined
  }

  #reply(command: string[], connection: FakeConnection): FakeReply | undefined {
    const [verb, sub] = command
    const what = verb === 'SENTINEL' ? `SENTINEL ${sub?.toUpperCase()}` : verb!
    if (this.denied.has(what)) return new Error('NOPERM this user has no permissions')
    const name = command[2] ?? ''
    const master = this.masters.get(name)
    switch (what) {
      case 'PING':
        return 'PONG'
      case 'SUBSCRIBE':
        this.#subscribers.add(connection)
        command.slice(1).forEach((channel, i) => {
          connection.push(['subscribe', channel, i + 1])
        })
        return undefined
      case 'SENTINEL MYID':
        return this.runId
      case 'SENTINEL GET-MASTER-ADDR-BY-NAME':
        return master === undefined ? null : [master.address.host, String(master.address.port)]
      case 'SENTINEL MASTER':
        return master === undefined ? noSuchMaster() : instance(master.address, master.flags ?? 'master', master.epoch)
      case 'SENTINEL REPLICAS':
        return master === undefined
          ? noSuchMaster()
          : (master.replicas ?? []).map((r) => instance(r, 'slave', undefined))
      case 'SENTINEL SENTINELS':
        return this.peers.map((p) => instance(p.address, 'sentinel', undefined, p.runId))
      default:
        return new Error(`ERR unknown command '${verb}'`)
    }
  }
}

function noSuchMaster(): Error {
  return new Error('ERR No such master with that name')
}

function instance(address: Address, flags: string, epoch: number | undefined, runId = ''): Map<string, FakeReply> {
  return new Map<string, FakeReply>([
    ['ip', address.host],
    ['port', String(address.port)],
    ['runid', runId],
    ['flags', flags],
    ...(epoch === undefined ? [] : ([['config-epoch', String(epoch)]] as const)),
    ...(flags === 'slave' ? ([['master-link-status', 'ok']] as const) : []),
  ])
}
