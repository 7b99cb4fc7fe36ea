import { type Fault, failoverSoon, victim } from './faults.js'

/** For runs from `PAUSES_FROM` on. */
export const NEWEST_FAULTS: Readonly<Record<string, Fault>> = {
  /** Holds back writes, and answers everything else. */
  pauseWrites(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`${node.label} holds back writes`)
    node.holdsWrites = true
    world.time.after(random.between(50, 1_500), () => {
      if (node.holdsWrites) node.resumeWrites()
    })
  },
}

/** For runs of the wider schedule only (`WIDE_FROM`): what came after the first seeds were found. */
export const MORE_FAULTS: Readonly<Record<string, Fault>> = {
  /** Alive, and every reply late by 0.2 to 2 s. */
  slowAlive(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`${node.label} is slow`)
    node.replyMs = random.between(400, 2_000)
    world.time.after(random.between(200, 2_500), () => {
      node.replyMs = 0
    })
  },
  /** Says READONLY and is a master all the same: a proxy before it, or a role that is only just changing. */
  readOnlyMaster(world, random) {
    const { node } = victim(world, random)
    world.ledger.note(`READONLY on ${node.label}`)
    node.trouble = 'READONLY'
    world.time.after(random.between(5, 900), () => {
      if (node.trouble === 'READONLY') node.trouble = undefined
    })
  },
  /** Dies, and loads its data set when it is back. */
  killAndLoad(world, random) {
    const { shard, node } = victim(world, random)
    if (!node.up) return
    world.ledger.note(`kill ${node.label}, which will load`)
    node.kill()
    failoverSoon(world, random, shard, node)
    world.time.after(random.between(20, 1_500), () => {
      if (node.up) return
      world.restart(shard, node)
      node.trouble = 'LOADING'
      world.time.after(random.between(50, 1_000), () => {
        if (node.trouble === 'LOADING') node.trouble = undefined
      })
    })
  },
  /** Replies are cut in their middle, and then comes the end of the stream, or nothing at all any more. */
  truncateReplies(world, random) {
    const { node } = victim(world, random)
    node.cutsBy = random.pick(['reset', 'end', 'silence'] as const)
    world.ledger.note(`truncate replies of ${node.label} by ${node.cutsBy}`)
    node.cutChance = random.between(0.02, 0.2)
    world.time.after(random.between(20, 600), () => {
      node.cutChance = 0
      node.cutsBy = 'reset'
    })
  },
  /** Back without its configuration file: for a while it knows nobody. */
  sentinelForgets(world, random) {
    const sentinel = random.pick(world.sentinels)
    if (sentinel.leads || !sentinel.up) return
    world.ledger.note(`${sentinel.runId} restarts and knows nobody`)
    sentinel.stop()
    sentinel.forgets = true
    world.time.after(random.between(20, 800), () => sentinel.up || sentinel.start())
    world.time.after(random.between(900, 2_000), () => {
      sentinel.forgets = false
    })
  },
  /** Back with the configuration file of the first day: the first masters, in the first epoch. */
  sentinelOfYesterday(world, random) {
    const sentinel = random.pick(world.sentinels)
    if (sentinel.leads || !sentinel.up) return
    world.ledger.note(`${sentinel.runId} restarts as of yesterday`)
    sentinel.stop()
    world.time.after(random.between(20, 800), () => sentinel.up || sentinel.start())
    for (const shard of world.shards) world.forget(sentinel, shard, random.between(100, 2_000))
  },
  /** The second failover begins while the first is being followed, told and adopted. */
  failoverTwice(world, random) {
    const shard = random.pick(world.shards)
    const before = shard.epoch
    world.failover(shard)
    const again = (tries: number) => {
      if (shard.epoch === before && tries > 0) world.time.after(10, () => again(tries - 1))
      else if (shard.epoch !== before && !world.healing) {
        shard.failingOver = false
        world.failover(shard)
      }
    }
    world.time.after(random.between(5, 150), () => again(10))
  },
  failoverAborted(world, random) {
    world.abortedFailover(random.pick(world.shards))
  },
  /** What a sentinel has told comes again, twice and in another order. */
  oldSwitches(world, random) {
    const sentinel = random.pick(world.sentinels)
    for (let i = random.int(1, 4); i > 0 && sentinel.told.length > 0; i--) {
      const message = random.pick(sentinel.told)
      for (let copy = 0; copy < 2; copy++) {
        world.time.after(random.between(0, 150), () => sentinel.publish('+switch-master', message))
      }
    }
  },
}
