import type { Address } from '../../src/address.js'
import type { Host, Link, ServerEnd } from './network.js'
import type { Random } from './random.js'
import type { SimNode } from './sim-node.js'
import type { VirtualTime } from './virtual-time.js'
import { encode, OK, type Reply, takeCommands } from './wire.js'

/** What one sentinel believes of one shard. */
export interface View {
  master: SimNode
  epoch: number
  inProgress: boolean
}

/** A sentinel: believes what the world tells it, when the world tells it, and may lie. */
export class SimSentinel {
  readonly address: Address
  readonly runId: string
  readonly host: Host
  readonly views = new Map<string, View>()
  readonly groups = new Map<string, readonly SimNode[]>()
  readonly clients = new Set<SentinelClientEnd>()
  peers: readonly SimSentinel[] = []
  frozen = false
  /** Answers with any node of the shard, at an epoch of before. */
  lies = false
  /** Knows no master and no peer. */
  forgets = false
  answerMs = 0
  /** The switches it has published. */
  readonly told: string[] = []
  readonly time: VirtualTime
  readonly random: Random

  constructor(address: Address, host: Host, time: VirtualTime, random: Random) {
    this.address = address
    this.runId = `sentinel-${address.port}`
    this.host = host
    this.time = time
    this.random = random
    this.start()
  }

  get up(): boolean {
    return this.host.accept !== undefined
  }

  /** It leads a failover now: of that it alone knows. */
  get leads(): boolean {
    for (const { inProgress } of this.views.values()) if (inProgress) return true
    return false
  }

  start(): void {
    this.host.accept = (link) => new SentinelClientEnd(this, link)
  }

  stop(): void {
    this.host.accept = undefined
    this.frozen = false
    for (const client of [...this.clients]) client.reset()
  }

  thaw(): void {
    this.frozen = false
    for (const client of [...this.clients]) client.work()
  }

  /** A message to whoever listens: it may be lost, late or doubled. */
  publish(channel: string, message: string): void {
    if (!this.up || this.frozen) return
    if (channel === '+switch-master' && this.told.length < 10) this.told.push(message)
    for (const client of this.clients) {
      if (!client.subscribed || this.random.chance(0.1)) continue
      const copies = this.random.chance(0.1) ? 2 : 1
      for (let i = 0; i < copies; i++) {
        const lateMs = this.random.chance(0.15) ? this.random.between(0, 400) : 0
        this.time.after(lateMs, () => client.push(['message', channel, message]))
      }
    }
  }

  reply(words: readonly string[]): Reply {
    const [verb, sub = '', name = ''] = words
    if (verb === 'HELLO') return new Error('ERR unknown command')
    if (verb === 'PING') return 'PONG'
    if (verb !== 'SENTINEL') return OK
    switch (sub.toUpperCase()) {
      case 'MYID':
        return this.runId
      case 'SENTINELS':
        return (this.forgets ? [] : this.peers).map((peer) => instance(peer.address, 'sentinel', undefined, peer.runId))
    }
    const view = this.forgets ? undefined : this.views.get(name)
    if (view === undefined) return sub.toUpperCase() === 'GET-MASTER-ADDR-BY-NAME' ? null : noSuchMaster()
    const group = this.groups.get(name)!
    const master = this.lies ? this.random.pick(group) : view.master
    switch (sub.toUpperCase()) {
      case 'GET-MASTER-ADDR-BY-NAME':
        return [master.address.host, String(master.address.port)]
      case 'MASTER':
        // A lie of the present epoch, of which there is only one truth, nobody could tell from it.
        return instance(
          master.address,
          view.inProgress ? 'master,failover_in_progress' : 'master',
          this.lies ? Math.max(0, view.epoch - 1) : view.epoch,
        )
      case 'REPLICAS':
        return group.filter((node) => node !== view.master).map((node) => instance(node.address, 'slave', undefined))
      default:
        return new Error(`ERR unknown subcommand '${sub}'`)
    }
  }
}

class SentinelClientEnd implements ServerEnd {
  subscribed = false
  readonly #sentinel: SimSentinel
  readonly #link: Link
  #text = ''
  #inbox: string[][] = []
  #gone = false
  #answerAt = 0

  constructor(sentinel: SimSentinel, link: Link) {
    this.#sentinel = sentinel
    this.#link = link
    sentinel.clients.add(this)
  }

  onData(text: string): void {
    const { commands, rest } = takeCommands(this.#text + text)
    this.#text = rest
    this.#inbox.push(...commands)
    this.work()
  }

  onClose(): void {
    this.#gone = true
    this.#sentinel.clients.delete(this)
  }

  reset(): void {
    this.#link.reset()
  }

  push(words: readonly Reply[]): void {
    if (!this.#gone) this.#link.down(encode(words, false))
  }

  work(): void {
    const { answerMs, time, random } = this.#sentinel
    while (!this.#sentinel.frozen && !this.#gone) {
      const words = this.#inbox.shift()
      if (words === undefined) return
      const verb = words[0]!.toUpperCase()
      if (verb === 'SUBSCRIBE') {
        this.subscribed = true
        for (const [i, channel] of words.slice(1).entries()) this.push(['subscribe', channel, i + 1])
        continue
      }
      const reply = this.#sentinel.reply([verb, ...words.slice(1)])
      // In subscriber mode RESP2 answers PING with a list.
      const text = encode(this.subscribed && verb === 'PING' ? ['pong', ''] : reply, false)
      const lateMs = answerMs === 0 ? 0 : random.between(0, answerMs)
      const before = this.#answerAt
      this.#answerAt = Math.max(before, time.now + lateMs)
      if (before < time.now && lateMs === 0) this.#link.down(text)
      else time.at(this.#answerAt, () => this.#gone || this.#link.down(text))
    }
  }
}

function noSuchMaster(): Error {
  return new Error('ERR No such master with that name')
}

function instance(address: Address, flags: string, epoch: number | undefined, runId = ''): Reply {
  return [
    ...['ip', address.host, 'port', String(address.port), 'runid', runId, 'flags', flags],
    ...(epoch === undefined ? [] : ['config-epoch', String(epoch)]),
    ...(flags === 'slave' ? ['master-link-status', 'ok'] : []),
  ]
}
