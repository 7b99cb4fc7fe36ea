import type { TestPool } from '../support/pool-on-topology.js'
import type { Ledger } from './ledger.js'
import type { Link, SimNetwork } from './network.js'
import type { World } from './world.js'

export interface Bounds {
  readonly leases: number
  readonly shared: number
  readonly fromReplicas: boolean
}

/** A command of the workload, as opposed to what the pool itself asks. */
const USER_COMMAND = /\r\n(?:GET|MGET|SET|MSET|INCRBY|GETSET|BLPOP)\r\n/i
const WRITE = /\r\n(?:SET|MSET|INCRBY|GETSET|BLPOP)\r\n/i
/** Of a write, see `Ledger.nextId`. */
const ID = /\b1\d{6}\b/g
/** One that is asked, one that is listened to, and the next of each while the one before goes. */
const SENTINEL_SOCKETS = 4

/** What is known of one shard from outside. */
interface Watched {
  /** Undefined until it is needed: told by events from then on, since the whole picture costs more than a packet. */
  generation: number | undefined
  /** Of the master it was moved to last. */
  epoch: number
  /** Since when it holds its writes; undefined when it does not. */
  holdingSince: number | undefined
}

/** What must hold at every moment of a run, whatever goes wrong. */
export class Invariants {
  readonly #world: World
  readonly #network: SimNetwork
  readonly #ledger: Ledger
  readonly #pool: TestPool
  readonly #bounds: Bounds
  readonly #watched: readonly Watched[]
  /** Shard generation by connection, from its first user command on. */
  readonly #generations = new Map<Link, number>()
  /** A shard has a new generation since the last step. */
  #moved = false
  #linksSeen = 0
  #steps = 0

  constructor(world: World, network: SimNetwork, ledger: Ledger, pool: TestPool, bounds: Bounds) {
    this.#world = world
    this.#network = network
    this.#ledger = ledger
    this.#pool = pool
    this.#bounds = bounds
    this.#watched = world.shards.map(() => ({ generation: undefined, epoch: 0, holdingSince: undefined }))
    network.onClientWrite = (link, text) => {
      if (USER_COMMAND.test(text)) this.#onUserCommand(link, text)
      ledger.order.sent(text.match(ID) ?? [])
    }
    const byName = new Map(world.shards.map(({ name }, i) => [name, this.#watched[i]!]))
    pool.on('failover', ({ shard, to, generation }) => {
      ledger.note(`pool moves ${shard} to ${to.port}`)
      const watched = byName.get(shard)!
      const epoch = world.nodeAt(to.port)!.epoch
      if (epoch < watched.epoch) ledger.broken(`${shard} went back from epoch ${watched.epoch} to ${epoch}`)
      // What it has learned: one that it never left may have been demoted and promoted again behind its back.
      watched.epoch = epoch
      watched.generation = generation
      this.#moved = true
    })
    pool.on('reconnect', ({ shard, reason, generation }) => {
      ledger.note(`pool reconnects ${shard} (${reason})`)
      byName.get(shard)!.generation = generation
      this.#moved = true
    })
    pool.on('shard-down', ({ shard, reason }) => ledger.note(`pool has lost ${shard} (${reason})`))
    pool.on('end', () => {
      for (const watched of this.#watched) Object.assign(watched, { generation: undefined, epoch: 0 })
      this.#generations.clear()
    })
  }

  /**
   * One live generation per shard: what is sent now goes to the address that is verified now, on connections of now. And
   * while a shard holds its writes, none of everybody's goes out.
   */
  #onUserCommand(link: Link, text: string): void {
    if (link.name.endsWith(':replica')) {
      if (!this.#bounds.fromReplicas) this.#ledger.broken('a replica was asked and nobody wanted that')
      return
    }
    const node = this.#world.nodeAt(link.address.port)!
    const handle = this.#pool.shards[node.shard]!
    const watched = this.#watched[node.shard]!
    const { address, name } = handle
    if (address?.port !== link.address.port) {
      this.#ledger.broken(`${name}: a call was sent to ${node.label} while ${address?.port} is the verified master`)
    }
    if (!link.saidMaster) this.#ledger.broken(`${name}: a call was sent to ${node.label}, which has proved nothing`)
    watched.generation ??= handle.stats.generation
    const { generation } = watched
    const first = this.#generations.get(link) ?? generation
    this.#generations.set(link, first)
    if (first !== generation) {
      this.#ledger.broken(`${name}: a call was sent on a connection of generation ${first} in generation ${generation}`)
    }
    // A lease is its holder's. And what was sent in the moment before leaves node-redis in the same moment.
    const { holdingSince = Number.POSITIVE_INFINITY } = watched
    if (holdingSince < this.#world.time.now && WRITE.test(text) && link.name.endsWith(':shared')) {
      this.#ledger.broken(`${name}: a write was sent to ${node.label} while writes are held`)
    }
  }

  afterStep(): void {
    this.#ledger.checkDeadlines()
    const { shards } = this.#pool
    for (const [i, watched] of this.#watched.entries()) {
      if (shards[i]!.state === 'holding') watched.holdingSince ??= this.#world.time.now
      else watched.holdingSince = undefined
    }
    if (this.#moved) this.#checkNothingOld()
    if (this.#network.links !== this.#linksSeen) this.#checkSockets()
    // The picture changes with a lease or a connection, far less often than a packet moves.
    if (++this.#steps % 8 === 0) this.#checkLeases((this.#steps / 8) % shards.length)
  }

  /** With a generation all its connections go, in the same step. */
  #checkNothingOld(): void {
    this.#moved = false
    for (const [link, generation] of this.#generations) {
      if (!this.#network.open.has(link)) this.#generations.delete(link)
      else {
        const { shard, label } = this.#world.nodeAt(link.address.port)!
        const now = this.#watched[shard]!.generation
        if (now !== undefined && generation < now) {
          this.#ledger.broken(`a connection of generation ${generation} to ${label} is open in generation ${now}`)
        }
      }
    }
  }

  /** A bound can only be crossed by one more. */
  #checkSockets(): void {
    this.#linksSeen = this.#network.links
    const open = new Map<string, number>()
    for (const { address } of this.#network.open) {
      const node = this.#world.nodeAt(address.port)
      const whose = node === undefined ? `sentinel ${address.port}` : `s${node.shard}`
      open.set(whose, (open.get(whose) ?? 0) + 1)
    }
    const { leases, shared, fromReplicas } = this.#bounds
    // One more for the connection that is being proved, one for a candidate that is followed, one for a proof that is overtaken.
    const bound = leases + shared + 3 + (fromReplicas ? 6 : 0)
    for (const [whose, count] of open) {
      const most = whose.startsWith('sentinel') ? SENTINEL_SOCKETS : bound
      if (count > most) this.#ledger.broken(`${whose}: ${count} sockets, more than ${most}`)
    }
  }

  /** The size is what is idle, what is borrowed, and what is being opened or tested; every socket of a lease is in it. */
  #checkLeases(index: number): void {
    const { name, leases, state } = this.#pool.shards[index]!.stats
    if (state === 'closed') return
    const { size, idle, borrowed } = leases
    const max = this.#bounds.leases
    if (idle + borrowed > size || size > max) {
      this.#ledger.broken(`${name}: ${idle} idle + ${borrowed} borrowed, size ${size}, max ${max}`)
    }
    const sockets = this.#socketsOf(index, ':lease')
    if (sockets > size) this.#ledger.broken(`${name}: ${sockets} sockets of leases, size ${size}`)
  }

  #socketsOf(index: number, role: string): number {
    let count = 0
    for (const { address, name } of this.#network.open) {
      if (name.endsWith(role) && this.#world.nodeAt(address.port)?.shard === index) count++
    }
    return count
  }

  /** When all is well again: every connection is idle or in use, and known to the pool. Undefined, or what is not so. */
  unrest(): string | undefined {
    for (const [i, { stats }] of this.#pool.shards.entries()) {
      const { name, leases, inFlight, waiting, state, sockets } = stats
      const { size, idle, borrowed, pending } = leases
      if (state !== 'ready') return `${name} is ${state} although all is well`
      if (borrowed > 0 || idle !== size || pending > 0) {
        return `${name} at rest: ${idle} idle + ${borrowed} borrowed, size ${size}, ${pending} pending`
      }
      if (inFlight !== 0 || waiting !== 0) return `${name} at rest: ${inFlight} in flight, ${waiting} waiting`
      const open = this.#socketsOf(i, '')
      if (open !== sockets) return `${name} at rest: ${open} sockets are open, ${sockets} are known`
    }
    return undefined
  }
}
