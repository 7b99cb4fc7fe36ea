import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promoteReplica, type Wait } from '../../../src/testing/failover.js'
import type { SentinelGroup } from '../../../src/testing/sentinel-group.js'
import type { ShardHandle } from '../../../src/testing/shard-handle.js'

const at = (port: number) => ({ port, toString: () => String(port) })

/** Looks at once, again and again. */
const wait: Wait = async (what, _timeoutMs, probe) => {
  for (let i = 0; i < 20; i++) {
    const seen = await probe()
    if ('ready' in seen) return seen.ready
  }
  throw new Error(what)
}

/** Two nodes, and a sentinel that gives up so many tries before one succeeds. */
function world(givenUp: number) {
  const [one, two] = [at(1), at(2)]
  let [started, asked] = [0, 0]
  const sentinel = at(26379)
  const group = {
    nodes: [sentinel],
    namedPorts: async () => [one.port],
    startFailover: async () => {
      started++
      asked = 0
      return { ready: sentinel }
    },
    failsOver: async () => started > givenUp || ++asked < 3,
  } as unknown as SentinelGroup
  const shard = {
    name: 'cache-a',
    saying: async () => (started > givenUp ? [one, two] : [one]),
  } as unknown as ShardHandle
  return { group, shard, two, started: () => started }
}

test('a failover that the sentinel gives up is ordered again', async () => {
  const { group, shard, two, started } = world(2)
  const { to } = await promoteReplica(shard, group, wait, 1_000)
  assert.equal(to, two)
  assert.equal(started(), 3)
})

test('a failover that goes on is ordered once', async () => {
  const { group, shard, started } = world(0)
  await promoteReplica(shard, group, wait, 1_000)
  assert.equal(started(), 1)
})
