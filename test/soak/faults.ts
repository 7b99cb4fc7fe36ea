import type { LocalTopology, TopologyNode } from '../../src/testing/index.js'

export interface SoakFault {
  readonly name: string
  /** True when Sentinel moves the shard: what replication had not carried over by then is lost, by Redis's own promise. */
  readonly moves: boolean
  run(topology: LocalTopology, shard: string): Promise<void>
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The server is busy for as long as it takes: nobody else may wait for its answer. */
async function busy(node: TopologyNode, ...command: string[]): Promise<void> {
  await node.command(...command).catch(() => {})
}

/** What can go wrong with real servers, each until it is over and the topology is whole again. */
export const FAULTS: readonly SoakFault[] = [
  {
    name: 'kill',
    moves: true,
    async run(topology, shard) {
      const old = await topology.killMaster(shard)
      await topology.waitForSwitch(shard, old)
      await old.restart()
    },
  },
  {
    name: 'freeze',
    moves: true,
    async run(topology, shard) {
      const old = await topology.freezeMaster(shard)
      try {
        await topology.waitForSwitch(shard, old)
      } finally {
        old.cont()
      }
    },
  },
  {
    name: 'clean failover',
    moves: true,
    async run(topology, shard) {
      await topology.failover(shard, { until: 'agreed' })
    },
  },
  {
    name: 'black hole',
    moves: false,
    async run(topology, shard) {
      const proxy = await topology.proxy(await topology.currentMaster(shard))
      await proxy.blackhole()
      await pause(1_500)
      await proxy.pass()
    },
  },
  {
    name: 'silence',
    moves: false,
    async run(topology, shard) {
      const proxy = await topology.proxy(await topology.currentMaster(shard))
      proxy.silence()
    },
  },
  {
    name: 'reset',
    moves: false,
    async run(topology, shard) {
      const proxy = await topology.proxy(await topology.currentMaster(shard))
      proxy.reset()
    },
  },
  {
    name: 'sentinel restart',
    moves: false,
    async run(topology) {
      await topology.sentinelNodes[0]!.restart()
    },
  },
  {
    name: 'CLIENT KILL',
    moves: false,
    async run(topology, shard) {
      const master = await topology.currentMaster(shard)
      await master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    },
  },
  {
    name: 'maxclients',
    moves: false,
    async run(topology, shard) {
      const master = await topology.currentMaster(shard)
      await master.command('CONFIG', 'SET', 'maxclients', '4')
      await master.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await pause(300)
      await master.command('CONFIG', 'SET', 'maxclients', '10000')
    },
  },
  {
    name: 'long Lua',
    moves: false,
    async run(topology, shard) {
      const script = `local s = redis.call('TIME')[1] local n repeat n = redis.call('TIME')[1] until n - s >= 1 return n`
      // Sentinel must not take it for dead: shorter than its patience.
      await busy(await topology.currentMaster(shard), 'EVAL', script, '0')
    },
  },
  {
    name: 'DEBUG SLEEP',
    moves: false,
    async run(topology, shard) {
      await busy(await topology.currentMaster(shard), 'DEBUG', 'SLEEP', '0.7')
    },
  },
  {
    name: 'latency',
    moves: false,
    async run(topology, shard) {
      const proxy = await topology.proxy(await topology.currentMaster(shard))
      proxy.delay(20)
      await pause(1_000)
      proxy.delay(0)
    },
  },
]
