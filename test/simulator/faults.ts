import { MORE_FAULTS, NEWEST_FAULTS } from './more-faults.js'
import { PAUSES_FROM, WIDE_FROM } from './options.js'
import type { Random } from './random.js'
import type { Trouble } from './refusals.js'
import type { SimNode } from './sim-node.js'
import type { SimSentinel } from './sim-sentinel.js'
import type { SimShard, World } from './world.js'

export type Fault = (world: World, random: Random) => void

const TROUBLES: readonly Trouble[] = ['LOADING', 'BUSY', 'MASTERDOWN', 'NOREPLICAS']

/** One shard's master, or now and then any node of it. */
export function victim({ shards }: World, random: Random): { shard: SimShard; node: SimNode } {
  const shard = random.pick(shards)
  return { shard, node: random.chance(0.8) ? shard.master : random.pick(shard.nodes) }
}

/** Sentinel notices a master that is away, but not always before it is back. */
export function failoverSoon(world: World, random: Random, shard: SimShard, node: SimNode): void {
  if (node !== shard.master || !random.chance(0.8)) return
  world.time.after(random.between(50, 500), () => {
    if (node === shard.master && !world.healing) world.failover(shard)
  })
}

const FAULTS: Readonly<Record<string, Fault>> = {
  kill(world, random) {
    const { shard, node } = victim(world, random)
    if (!node.up) return
    world.ledger.note(`kill ${node.label}`)
    node.kill()
    failoverSoon(world, random, shard, node)
    world.time.after(random.between(20, 2_500), () => world.restart(shard, node))
  },
  freeze(world, random) {
    const { shard, node } = victim(world, random)
    world.ledger.note(`freeze ${node.label}`)
    node.frozen = true
    failoverSoon(world, random, shard, node)
    world.time.after(random.between(10, 1_500), () => node.thaw())
  },
  blackhole(world, random) {
    const { shard, node } = victim(world, random)
    world.ledger.note(`blackhole ${node.label}`)
    node.host.blackhole = true
    failoverSoon(world, random, shard, node)
    world.time.after(random.between(10, 1_500), () => world.network.mend(node.host, world.network.open))
  },
  switchOver(world, random) {
    world.failover(random.pick(world.shards))
  },
  cutReplies(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`cut replies of ${node.label}`)
    node.cutChance = random.between(0.02, 0.3)
    world.time.after(random.between(20, 600), () => {
      node.cutChance = 0
    })
  },
  slowReplies(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`slow replies of ${node.label}`)
    node.replyMs = random.between(5, 600)
    world.time.after(random.between(20, 800), () => {
      node.replyMs = 0
    })
  },
  latency(world, random) {
    const { host } = random.pick([...world.nodes, ...world.sentinels])
    host.extraMs = random.between(1, 120)
    world.time.after(random.between(20, 800), () => {
      host.extraMs = 0
    })
  },
  trouble(world, random) {
    const { node } = victim(world, random)
    const trouble = random.pick(TROUBLES)
    world.ledger.note(`${trouble} on ${node.label}`)
    node.trouble = trouble
    world.time.after(random.between(10, 900), () => {
      if (node.trouble === trouble) node.trouble = undefined
    })
  },
  loginLost(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`NOAUTH on ${node.label}`)
    for (const client of node.clients) client.loggedIn = false
  },
  clientKill(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`cut all clients of ${node.label}`)
    for (const client of [...node.clients]) if (random.chance(0.7)) client.reset()
  },
  silence(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`silence all connections to ${node.label}`)
    for (const link of world.network.open) {
      if (link.address.port === node.address.port && random.chance(0.8)) link.silent = true
    }
  },
  silenceSentinel(world, random) {
    const { address } = random.pick(world.sentinels)
    for (const link of world.network.open) if (link.address.port === address.port) link.silent = true
  },
  sentinelDown(world, random) {
    const sentinel = random.pick(world.sentinels)
    world.ledger.note(`stop ${sentinel.runId}`)
    sentinel.stop()
    world.time.after(random.between(50, 2_000), () => sentinel.up || sentinel.start())
  },
  sentinelFrozen(world, random) {
    const sentinel = random.pick(world.sentinels)
    world.ledger.note(`freeze ${sentinel.runId}`)
    sentinel.frozen = true
    world.time.after(random.between(50, 1_500), () => sentinel.thaw())
  },
  sentinelSlow(world, random) {
    const sentinel = random.pick(world.sentinels)
    sentinel.answerMs = random.between(5, 200)
    world.time.after(random.between(50, 1_500), () => {
      sentinel.answerMs = 0
    })
  },
  sentinelLies(world, random) {
    // One liar at a time: with more there is no truth left to find.
    if (world.sentinels.some((sentinel) => sentinel.lies)) return
    const sentinel = random.pick(world.sentinels)
    // Nor the one that leads a failover: of that it alone knows.
    if ([...sentinel.views.values()].some((view) => view.inProgress)) return
    world.ledger.note(`${sentinel.runId} lies`)
    sentinel.lies = true
    world.time.after(random.between(50, 1_500), () => {
      sentinel.lies = false
    })
  },
  forgedMessage(world, random) {
    const shard = random.pick(world.shards)
    const sentinel: SimSentinel = random.pick(world.sentinels)
    const [from, to] = [random.pick(shard.nodes).address, random.pick(shard.nodes).address]
    const about = `${shard.name} 127.0.0.1 ${from.port}`
    world.ledger.note(`forged message of ${sentinel.runId} about ${shard.name}: ${to.port}`)
    const slave = `slave 127.0.0.1:${to.port} 127.0.0.1 ${to.port} @ ${about}`
    if (random.chance(0.4)) sentinel.publish('+switch-master', `${about} 127.0.0.1 ${to.port}`)
    else if (random.chance(0.5)) sentinel.publish('+selected-slave', slave)
    else sentinel.publish(random.pick(['+try-failover', '+failover-state-select-slave']), `master ${about}`)
  },
}

/** Lets something go wrong every now and then until `until`. */
export function breakThings(world: World, random: Random, until: number, seed: number): void {
  const faults = {
    ...FAULTS,
    ...(seed >= WIDE_FROM ? MORE_FAULTS : {}),
    ...(seed >= PAUSES_FROM ? NEWEST_FAULTS : {}),
  }
  const names = Object.keys(faults)
  // A run that knows only some kinds of fault meets each of them more often, and combinations of few more deeply.
  const chosen = names.filter(() => random.chance(0.6))
  const kinds = chosen.length > 0 ? chosen : names
  const [shortest, longest] = random.pick([
    [20, 150],
    [50, 500],
    [200, 1_500],
  ] as const)
  const next = () => {
    if (world.time.now >= until) return
    faults[random.pick(kinds)]!(world, random)
    world.time.after(random.between(shortest, longest), next)
  }
  world.time.after(random.between(0, longest), next)
}
