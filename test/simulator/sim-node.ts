import type { Address } from '../../src/address.js'
import type { Ledger } from './ledger.js'
import type { Host, Link, ServerEnd } from './network.js'
import type { Random } from './random.js'
import { refusalOf, type Trouble, WRITES } from './refusals.js'
import type { VirtualTime } from './virtual-time.js'
import { encode, OK, QUEUED, type Reply, takeCommands } from './wire.js'

export interface NodeParts {
  readonly time: VirtualTime
  readonly random: Random
  readonly ledger: Ledger
  readonly host: Host
}

/** A data node: keeps no values, only which writes it has executed; answers so that a reply can be told from any other. */
export class SimNode {
  readonly label: string
  readonly address: Address
  readonly shard: number
  readonly host: Host
  readonly clients = new Set<NodeClient>()
  role: 'master' | 'slave'
  /** Of the promotion that made it a master; 0 for the first masters. */
  epoch = 0
  trouble: Trouble | undefined
  /** Takes commands and does nothing until it thaws: SIGSTOP, or a script that does not even answer BUSY. */
  frozen = false
  /** CLIENT PAUSE … WRITE: who sends a write waits, and all that comes after it on that connection. */
  holdsWrites = false
  /** Chance that a reply is cut in the middle by a reset, or that a connection is reset before or after a command. */
  cutChance = 0
  /** What comes after what was cut: a reset, the end of the stream, or nothing on this connection any more. */
  cutsBy: 'reset' | 'end' | 'silence' = 'reset'
  /** Every reply is late by up to so much, in ms. */
  replyMs = 0
  /** Ids of the writes in its data set. */
  data = new Set<string>()
  replicas: SimNode[] = []
  readonly #parts: NodeParts

  constructor(label: string, address: Address, shard: number, role: 'master' | 'slave', parts: NodeParts) {
    this.label = label
    this.address = address
    this.shard = shard
    this.role = role
    this.host = parts.host
    this.#parts = parts
    this.start()
  }

  get up(): boolean {
    return this.host.accept !== undefined
  }

  start(): void {
    this.host.accept = (link) => new NodeClient(this, link, this.#parts)
  }

  /** The process dies: every connection is reset, what it had not answered it never will. */
  kill(): void {
    this.host.accept = undefined
    this.frozen = false
    this.holdsWrites = false
    for (const client of [...this.clients]) client.reset()
  }

  thaw(): void {
    this.frozen = false
    for (const client of [...this.clients]) client.work()
  }

  resumeWrites(): void {
    this.holdsWrites = false
    for (const client of [...this.clients]) client.work()
  }

  /** As Sentinel does it: blocked clients are told, the others may be cut. */
  demote(cutClients: boolean): void {
    this.role = 'slave'
    for (const client of [...this.clients]) {
      client.unblock()
      if (cutClients) client.reset()
    }
  }

  execute(id: string, key: string): void {
    const { ledger, time, random } = this.#parts
    ledger.executed(id, key, this)
    this.data.add(id)
    for (const replica of this.replicas) {
      const followed = replica
      time.after(random.between(0.2, 5), () => {
        if (followed.role === 'slave' && followed.up) followed.data.add(id)
      })
    }
  }
}

/** One client of a node, as the server sees it. */
export class NodeClient implements ServerEnd {
  readonly #node: SimNode
  readonly #link: Link
  readonly #parts: NodeParts
  #text = ''
  #inbox: string[][] = []
  #resp3 = false
  loggedIn = true
  #queue: string[][] | undefined
  #dirty: Error | undefined
  #blocked: (() => void) | undefined
  #gone = false
  /** It has fallen silent in the middle of an answer: nothing comes after it. */
  #mute = false
  #replyAt = 0

  constructor(node: SimNode, link: Link, parts: NodeParts) {
    this.#node = node
    this.#link = link
    this.#parts = parts
    node.clients.add(this)
  }

  onData(text: string): void {
    const { commands, rest } = takeCommands(this.#text + text)
    this.#text = rest
    this.#inbox.push(...commands)
    this.work()
  }

  onClose(): void {
    this.#gone = true
    this.#blocked = undefined
    this.#node.clients.delete(this)
  }

  reset(): void {
    this.#link.reset()
  }

  /** Executes what has come, one command after another, as far as the node's state lets it. */
  work(): void {
    const { random } = this.#parts
    let cut = false
    while (!this.#node.frozen && this.#blocked === undefined && !this.#gone && !this.#mute) {
      const [words] = this.#inbox
      if (words === undefined || (this.#node.holdsWrites && this.#isWrite(words))) break
      this.#inbox.shift()
      cut = this.#node.cutChance > 0 && random.chance(this.#node.cutChance)
      // Before it has run, after it has run, or in the middle of its reply.
      const how = cut ? random.int(0, 2) : -1
      if (how === 0) break
      const reply = this.#answer(words.map((word, i) => (i === 0 ? word.toUpperCase() : word)))
      if (how === 1) break
      if (reply === undefined) continue
      if (how === 2) {
        const text = encode(reply, this.#resp3)
        if (this.#replyAt < this.#parts.time.now) this.#link.down(text.slice(0, random.int(1, text.length - 1)))
        break
      }
      this.#send(reply, reply instanceof Error ? words[2] : undefined)
    }
    if (cut) this.#cut()
  }

  #isWrite([word = '']: readonly string[]): boolean {
    const verb = word.toUpperCase()
    if (verb === 'EXEC') return this.#queue?.some((queued) => this.#isWrite(queued)) === true
    return WRITES.has(verb)
  }

  #cut(): void {
    const { cutsBy } = this.#node
    if (cutsBy === 'reset') this.reset()
    else if (cutsBy === 'end') this.#link.end()
    else this.#mute = true
  }

  /** The node is no master any more: a command that waits for an element has not run. */
  unblock(): void {
    if (this.#blocked === undefined) return
    this.#blocked = undefined
    this.#send(
      new Error('UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)'),
    )
    this.work()
  }

  /** `refused`: the id of the write that it refuses. */
  #send(reply: Reply, refused?: string): void {
    const { replyMs } = this.#node
    const { time, random, ledger } = this.#parts
    const delivered = refused === undefined ? undefined : () => ledger.order.refused(refused)
    const text = encode(reply, this.#resp3)
    // Late, but in order, as all replies of a connection are.
    const lateMs = replyMs === 0 ? 0 : random.between(replyMs / 2, replyMs)
    const before = this.#replyAt
    this.#replyAt = Math.max(before, time.now + lateMs)
    if (before < time.now && lateMs === 0) this.#link.down(text, delivered)
    else time.at(this.#replyAt, () => this.#gone || this.#link.down(text, delivered))
  }

  #answer(words: string[]): Reply | undefined {
    const verb = words[0]!
    const refusal = refusalOf(this.#node, verb, this.loggedIn)
    if (refusal !== undefined) {
      if (this.#queue !== undefined) this.#dirty ??= refusal
      return refusal
    }
    if (verb === 'MULTI') {
      this.#queue = []
      return OK
    }
    if (verb === 'EXEC') return this.#exec()
    if (this.#queue !== undefined) {
      this.#queue.push(words)
      return QUEUED
    }
    return this.#run(words)
  }

  #exec(): Reply {
    const queue = this.#queue ?? []
    const dirty = this.#dirty
    this.#queue = undefined
    this.#dirty = undefined
    if (dirty !== undefined) return new Error('EXECABORT Transaction discarded because of previous errors.')
    const refusal = queue.map(([verb]) => refusalOf(this.#node, verb!, this.loggedIn)).find((one) => one !== undefined)
    if (refusal !== undefined) return new Error(`EXECABORT Transaction discarded because of: ${refusal.message}`)
    return queue.map((words) => this.#run(words) ?? null)
  }

  #run(words: string[]): Reply | undefined {
    const node = this.#node
    const [verb, key = '', value = ''] = words
    switch (verb) {
      case 'HELLO':
        this.#resp3 = key === '3'
        return new Map<string, Reply>([['proto', Number(key || 2)]])
      case 'CLIENT':
        if (key.toUpperCase() === 'SETNAME') this.#link.name = value
        return OK
      case 'PING':
        return 'PONG'
      case 'ROLE':
        this.#link.saidMaster = node.role === 'master'
        return node.role === 'master' ? ['master', 0, []] : ['slave', '127.0.0.1', 1, 'connected', 0]
      case 'INFO':
        return `# Replication\r\nrole:${node.role}\r\nmaster_link_status:up\r\n`
      case 'GET':
        return `v:${key}`
      case 'MGET':
        return words.slice(1).map((one) => `v:${one}`)
      case 'SET':
        node.execute(value, key)
        return OK
      case 'MSET':
        for (let i = 1; i < words.length; i += 2) node.execute(words[i + 1]!, words[i]!)
        return OK
      case 'GETSET':
        node.execute(value, key)
        return `v:${key}:${value}`
      case 'INCRBY':
        node.execute(value, key)
        return Number(value)
      case 'BLPOP':
        return this.#block(key, Number(words.at(-1)))
      case 'WAIT':
        return node.replicas.filter((one) => one.up && one.role === 'slave').length
      case 'PUBLISH':
        return 0
      case 'WATCH':
      case 'UNWATCH':
      case 'SELECT':
      case 'AUTH':
        return OK
      default:
        return new Error(`ERR unknown command '${verb}'`)
    }
  }

  /** Half of the time an element comes before the wait is over. */
  #block(key: string, seconds: number): undefined {
    const { time, random } = this.#parts
    const node = this.#node
    const comes = random.chance(0.5)
    const wake = () => {
      if (this.#blocked !== wake) return
      if (node.frozen) {
        time.after(5, wake)
        return
      }
      this.#blocked = undefined
      if (comes) node.execute(key.slice(key.lastIndexOf(':') + 1), key)
      this.#send(comes ? [key, 'element'] : null)
      this.work()
    }
    this.#blocked = wake
    time.after(comes ? random.between(0, seconds * 900) : seconds * 1_000, wake)
    return undefined
  }
}
