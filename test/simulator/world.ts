import type { Ledger } from './ledger.js'
import type { SimNetwork } from './network.js'
import type { Random } from './random.js'
import { SimNode } from './sim-node.js'
import { SimSentinel } from './sim-sentinel.js'
import type { VirtualTime } from './virtual-time.js'

export interface SimShard {
  readonly name: string
  readonly nodes: readonly SimNode[]
  master: SimNode
  epoch: number
  /** When the last promotion, or the last loss of a data set, was. */
  changedAt: number
  /** When the last promotion was. */
  promotedAt: number
  failingOver: boolean
}

const HOST = '127.0.0.1'

export interface Realism {
  /** Sentinels greet each other every 2 s, and no failover follows another faster: none of them is two failovers behind. */
  readonly greetings: boolean
  /** Between a promotion and the next failover of the same shard: a sentinel takes seconds for one. */
  readonly leastGapMs: number
}

/** The servers of one run, and the story of their failovers as Sentinel would tell it. */
export class World {
  readonly shards: readonly SimShard[]
  readonly nodes: readonly SimNode[]
  readonly sentinels: readonly SimSentinel[]
  readonly time: VirtualTime
  readonly random: Random
  readonly network: SimNetwork
  readonly ledger: Ledger
  /** No new faults, and what still comes of old ones comes soon. */
  healing = false
  readonly #greetings: boolean
  readonly #leastGapMs: number
  readonly #byPort: ReadonlyMap<number, SimNode>

  constructor(
    time: VirtualTime,
    random: Random,
    network: SimNetwork,
    ledger: Ledger,
    { greetings, leastGapMs }: Realism,
  ) {
    this.#greetings = greetings
    this.#leastGapMs = leastGapMs
    this.time = time
    this.random = random
    this.network = network
    this.ledger = ledger
    this.shards = Array.from({ length: random.int(1, 3) }, (_, i) => this.#makeShard(i))
    this.nodes = this.shards.flatMap((shard) => shard.nodes)
    this.#byPort = new Map(this.nodes.map((node) => [node.address.port, node]))
    this.sentinels = Array.from({ length: 3 }, (_, i) => {
      const port = 26_000 + i
      return new SimSentinel({ host: HOST, port }, network.host(port), time, random.fork())
    })
    for (const sentinel of this.sentinels) {
      sentinel.peers = this.sentinels.filter((other) => other !== sentinel)
      for (const { name, nodes, master, epoch } of this.shards) {
        sentinel.groups.set(name, nodes)
        sentinel.views.set(name, { master, epoch, inProgress: false })
      }
    }
  }

  nodeAt(port: number): SimNode | undefined {
    return this.#byPort.get(port)
  }

  /**
   * A failover from the leader's first word to the demotion of the old master: any of its messages may be lost, and each
   * sentinel learns of it in its own time. Sometimes it is announced and comes to nothing.
   */
  failover(shard: SimShard): void {
    if (shard.failingOver || this.time.now - shard.promotedAt < this.#leastGapMs) return
    const isFit = (node: SimNode) => node.role === 'slave' && node.up && !node.frozen && !node.host.blackhole
    const candidates = shard.nodes.filter(isFit)
    if (candidates.length === 0) return
    const { random, time } = this
    const old = shard.master
    const next = random.pick(candidates)
    const leader = this.#leaderFor(shard)
    if (leader === undefined) return
    const about = `${shard.name} ${HOST} ${old.address.port}`
    const slave = `slave ${HOST}:${next.address.port} ${HOST} ${next.address.port} @ ${about}`
    this.ledger.note(`failover of ${shard.name}: ${old.label} -> ${next.label}`)
    shard.failingOver = true
    const view = leader.views.get(shard.name)!
    view.inProgress = true
    if (random.chance(0.7)) leader.publish('+try-failover', `master ${about}`)
    if (random.chance(0.7)) leader.publish('+failover-state-select-slave', `master ${about}`)
    if (random.chance(0.1)) {
      time.after(random.between(5, 300), () => {
        shard.failingOver = false
        view.inProgress = false
        this.ledger.note(`failover of ${shard.name} aborted`)
        leader.publish('-failover-abort-no-good-slave', `master ${about}`)
      })
      return
    }
    if (random.chance(0.8)) leader.publish('+selected-slave', slave)
    time.after(random.between(1, 80), () => this.#promote(shard, next, leader, about))
  }

  /** One that is elected by the others knows the present configuration. */
  #leaderFor(shard: SimShard): SimSentinel | undefined {
    const informed = this.sentinels.filter(
      (one) => one.up && !one.frozen && !one.lies && !one.forgets && one.views.get(shard.name)!.epoch === shard.epoch,
    )
    return informed.length === 0 ? undefined : this.random.pick(informed)
  }

  /** It is announced, perhaps down to the node that will be the master, and is given up. */
  abortedFailover(shard: SimShard): void {
    const leader = shard.failingOver ? undefined : this.#leaderFor(shard)
    if (leader === undefined) return
    const { random, time } = this
    const next = random.pick(shard.nodes.filter((node) => node !== shard.master))
    const about = `${shard.name} ${HOST} ${shard.master.address.port}`
    const view = leader.views.get(shard.name)!
    const reason = random.pick(['not-elected', 'no-good-slave', 'slave-timeout'] as const)
    this.ledger.note(`failover of ${shard.name} to ${next.label}, to be aborted: ${reason}`)
    shard.failingOver = true
    view.inProgress = true
    leader.publish('+try-failover', `master ${about}`)
    if (reason === 'slave-timeout') {
      const { port } = next.address
      leader.publish('+selected-slave', `slave ${HOST}:${port} ${HOST} ${port} @ ${about}`)
    }
    time.after(random.between(5, 600), () => {
      shard.failingOver = false
      view.inProgress = false
      leader.publish(`-failover-abort-${reason}`, `master ${about}`)
    })
  }

  /** The sentinel believes what held at first, and learns better after `ms`. */
  forget(sentinel: SimSentinel, shard: SimShard, ms: number): void {
    const view = sentinel.views.get(shard.name)!
    view.master = shard.nodes[0]!
    view.epoch = 0
    this.time.after(ms, () => {
      const about = `${shard.name} ${HOST} ${view.master.address.port}`
      this.#tell(sentinel, shard, shard.master, shard.epoch, about)
    })
  }

  #promote(shard: SimShard, next: SimNode, leader: SimSentinel, about: string): void {
    const { random, time } = this
    const old = shard.master
    // Another one was faster.
    if (!next.up || time.now - shard.promotedAt < this.#leastGapMs) {
      shard.failingOver = false
      return
    }
    if (this.#greetings) for (const sentinel of this.sentinels) this.#tell(sentinel, shard, old, shard.epoch, about)
    shard.epoch++
    shard.master = next
    shard.changedAt = time.now
    shard.promotedAt = time.now
    next.role = 'master'
    next.epoch = shard.epoch
    next.trouble = undefined
    next.replicas = shard.nodes.filter((node) => node !== next)
    this.ledger.note(`${next.label} is master of ${shard.name} in epoch ${shard.epoch}`)
    for (const sentinel of this.sentinels) {
      const epoch = shard.epoch
      time.after(sentinel === leader ? random.between(0, 100) : random.between(0, 1_200), () =>
        this.#tell(sentinel, shard, next, epoch, about),
      )
    }
    time.after(random.between(30, 1_500), () => {
      shard.failingOver = false
      if (old === shard.master) return
      old.replicas = []
      old.data = new Set(shard.master.data)
      old.demote(random.chance(0.7))
      this.ledger.note(`${old.label} is demoted`)
    })
  }

  /** This sentinel learns of the switch; one that is down learns it when it is back. */
  #tell(sentinel: SimSentinel, shard: SimShard, master: SimNode, epoch: number, about: string): void {
    const view = sentinel.views.get(shard.name)!
    if (view.epoch >= epoch) return
    if (!sentinel.up || sentinel.frozen || sentinel.forgets) {
      this.time.after(100, () => this.#tell(sentinel, shard, master, epoch, about))
      return
    }
    view.master = master
    view.epoch = epoch
    view.inProgress = false
    sentinel.publish('+switch-master', `${about} ${HOST} ${master.address.port}`)
  }

  /** Everything stands again, and every sentinel comes to know the truth. */
  heal(): void {
    this.healing = true
    this.ledger.note('healing')
    for (const sentinel of this.sentinels) {
      if (!sentinel.up) sentinel.start()
      sentinel.thaw()
      sentinel.lies = false
      sentinel.forgets = false
      sentinel.answerMs = 0
    }
    for (const shard of this.shards) for (const node of shard.nodes) this.#healNode(shard, node)
    for (const { host } of [...this.nodes, ...this.sentinels]) {
      host.extraMs = 0
      this.network.mend(host, this.network.open)
    }
  }

  #healNode(shard: SimShard, node: SimNode): void {
    node.trouble = undefined
    node.cutChance = 0
    node.cutsBy = 'reset'
    node.replyMs = 0
    if (!node.up) this.restart(shard, node)
    node.thaw()
    if (node.holdsWrites) node.resumeWrites()
  }

  /** Comes back empty: as a replica if another one is master by now. */
  restart(shard: SimShard, node: SimNode): void {
    if (node.up) return
    if (node === shard.master) {
      node.data = new Set()
      shard.changedAt = this.time.now
    } else {
      node.role = 'slave'
      node.replicas = []
      node.data = new Set(shard.master.data)
    }
    node.start()
    this.ledger.note(`${node.label} is back as ${node.role}`)
  }

  #makeShard(index: number): SimShard {
    const { time, random, network, ledger } = this
    const nodes = Array.from({ length: random.int(2, 3) }, (_, i) => {
      const port = 7_000 + index * 10 + i
      const parts = { time, random: random.fork(), ledger, host: network.host(port) }
      return new SimNode(`s${index}/${i}`, { host: HOST, port }, index, i === 0 ? 'master' : 'slave', parts)
    })
    const master = nodes[0]!
    master.replicas = nodes.slice(1)
    return {
      name: `s${index}`,
      nodes,
      master,
      epoch: 0,
      changedAt: 0,
      promotedAt: Number.NEGATIVE_INFINITY,
      failingOver: false,
    }
  }
}
