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

/** What must hold at every moment of a run, whatever goes wrong. */
export class Invariants {
  readonly #world: World
  readonly #network: SimNetwork
  readonly #ledger: Ledger
  readonly #pool: TestPool
  readonly #bounds: Bounds
  /** Shard generation by connection, from its first user command on. */
  readonly #generations = new Map<Link, number>()
  readonly #epochs = new Map<string, number>()
  #steps = 0

  constructor(world: World, network: SimNetwork, ledger: Ledger, pool: TestPool, bounds: Bounds) {
    this.#world = world
    this.#network = network
    this.#ledger = ledger
    this.#pool = pool
    this.#bounds = bounds
    network.onClientWrite = (link, text) => {
      if (USER_COMMAND.test(text)) this.#onUserCommand(link)
    }
    pool.on('failover', ({ shard, to }) => {
      ledger.note(`pool moves ${shard} to ${to.port}`)
      const epoch = world.nodeAt(to.port)!.epoch
      const before = this.#epochs.get(shard) ?? 0
      if (epoch < before) ledger.broken(`${shard} went back from epoch ${before} to ${epoch}`)
      // What it has learned: one that it never left may have been demoted and promoted again behind its back.
      this.#epochs.set(shard, epoch)
    })
    pool.on('reconnect', ({ shard, reason }) => ledger.note(`pool reconnects ${shard} (${reason})`))
    pool.on('shard-down', ({ shard, reason }) => ledger.note(`pool has lost ${shard} (${reason})`))
    pool.on('end', () => this.#epochs.clear())
  }

  /** One live generation per shard: what is sent now goes to the address that is verified now, on connections of now. */
  #onUserCommand(link: Link): void {
    if (link.name.endsWith(':replica')) {
      if (!this.#bounds.fromReplicas) this.#ledger.broken('a replica was asked and nobody wanted that')
      return
    }
    const node = this.#world.nodeAt(link.address.port)!
    const { address, generation, name } = this.#pool.stats().shards[node.shard]!
    if (address?.port !== link.address.port) {
      this.#ledger.broken(`${name}: a call was sent to ${node.label} while ${address?.port} is the verified master`)
    }
    const first = this.#generations.get(link) ?? generation
    this.#generations.set(link, first)
    if (first !== generation) {
      this.#ledger.broken(`${name}: a call was sent on a connection of generation ${first} in generation ${generation}`)
    }
  }

  afterStep(): void {
    this.#ledger.checkDeadlines()
    // The picture changes with a lease or a connection, far less often than a packet moves.
    if (++this.#steps % 8 !== 0) return
    const open = new Array<number>(this.#world.shards.length).fill(0)
    for (const { address } of this.#network.open) {
      if (address.port < 20_000) open[this.#world.nodeAt(address.port)!.shard]!++
    }
    const { leases, shared, fromReplicas } = this.#bounds
    // One more for the connection that is being proved, one for a candidate that is followed, one for a proof that is overtaken.
    const bound = leases + shared + 3 + (fromReplicas ? 6 : 0)
    for (const { name, leases: picture, state } of this.#pool.stats().shards) {
      const { size, idle, borrowed } = picture
      if (state === 'closed') continue
      if (idle + borrowed > size || size > leases) {
        this.#ledger.broken(`${name}: ${idle} idle + ${borrowed} borrowed, size ${size}, max ${leases}`)
      }
    }
    for (const [i, count] of open.entries()) {
      if (count > bound) this.#ledger.broken(`s${i}: ${count} sockets, more than ${bound}`)
    }
  }

  /** When all is well again: every connection is idle or in use. */
  atRest(): void {
    for (const { name, leases, inFlight, waiting, state } of this.#pool.stats().shards) {
      const { size, idle, borrowed, pending } = leases
      if (state !== 'ready') this.#ledger.broken(`${name} is ${state} although all is well`)
      if (idle + borrowed !== size || pending > 0) {
        this.#ledger.broken(
          `${name} at rest: ${idle} idle + ${borrowed} borrowed is not size ${size}, ${pending} pending`,
        )
      }
      if (inFlight !== 0 || waiting !== 0)
        this.#ledger.broken(`${name} at rest: ${inFlight} in flight, ${waiting} waiting`)
    }
  }
}
