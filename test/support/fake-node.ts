import type { Address } from '../../src/address.js'
import { type FakeReply, FakeRespServer } from './fake-resp-server.js'

/** A data node that claims what the test tells it to. */
export class FakeNode {
  readonly server = new FakeRespServer((command) => this.#answer(command))
  role: 'master' | 'slave'
  /** Of a slave: the master it says it follows. */
  master: Address = { host: '127.0.0.1', port: 1 }
  link = 'connected'
  /** How far it is in the replication stream. */
  offset = 0
  /** The first word of the error that everything but ROLE gets: `LOADING`, `BUSY` … */
  trouble: string | undefined
  readonly denied = new Set<string>()

  constructor(role: 'master' | 'slave') {
    this.role = role
  }

  static async listen(role: 'master' | 'slave' = 'master'): Promise<FakeNode> {
    const node = new FakeNode(role)
    await node.server.listen()
    return node
  }

  get address(): Address {
    return this.server.address
  }

  close(): Promise<void> {
    return this.server.close()
  }

  #answer([verb]: string[]): FakeReply {
    if (this.denied.has(verb!)) return new Error('NOPERM this user has no permissions')
    if (verb === 'ROLE') {
      const { host, port } = this.master
      return this.role === 'master' ? ['master', this.offset, []] : ['slave', host, port, this.link, this.offset]
    }
    if (this.trouble !== undefined) return new Error(`${this.trouble} not now`)
    if (verb === 'PING') return 'PONG'
    if (verb === 'INFO') return `# Replication\r\nrole:${this.role}\r\nmaster_link_status:up\r\n`
    return new Error(`ERR unknown command '${verb}'`)
  }
}
