import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { FailoverEvent, SentinelEvent } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolClientIds, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { activeResources } from '../support/sockets.js'
import { nextEvent, until } from '../support/waiting.js'

describe('three sentinels announce each failover of one shard', () => {
  let topology: LocalTopology
  let pool: TestPool
  const failovers: FailoverEvent[] = []
  const switches: SentinelEvent[] = []
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
    pool = poolOn(topology)
    pool.on('failover', (event) => failovers.push(event))
    pool.on('sentinel', (event) => {
      if (event.event === '+switch-master') switches.push(event)
    })
    await pool.connect()
    await until('three subscriptions', () => pool.stats().sentinels.filter((one) => one.subscribed).length === 3)
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  /** One ordered failover, up to the moment when everybody has heard of it and everything is at rest again. */
  async function failOver(): Promise<void> {
    const announced = switches.length
    const told = failovers.length
    const followed = nextEvent(pool, 'failover')
    await topology.failover('cache-a', { until: 'agreed' })
    await followed
    await until('all three announcements', () => switches.length >= announced + 3)
    await topology.waitUntilSettled({ hurry: true })
    await until('the lease connection', () => {
      const { leases, state } = pool.stats().shards[0]!
      return state === 'ready' && leases.size === 1 && leases.idle === 1
    })
    assert.equal(failovers.length, told + 1)
  }

  const picture = async () => {
    const master = await topology.currentMaster('cache-a')
    // One for commands, one for leases: either may just be coming back on a busy machine.
    await until('both connections', () => pool.stats().shards[0]!.sockets === 2)
    // One more is there for a moment when an answer is late and the master is asked anew; one that stays is a leak.
    await until('no other one at the server', async () => (await poolClientIds(master)).length === 2)
    const { TCPSocketWrap, Timeout } = activeResources()
    return {
      sockets: pool.stats().shards[0]!.sockets,
      processSockets: TCPSocketWrap,
      timers: Timeout,
      listeners: pool.eventNames().map((name) => [name, pool.listenerCount(name)]),
    }
  }

  it('one switch is exactly one rebuild: one failover event, one new generation', async () => {
    await failOver()
    const [shard, other] = pool.stats().shards
    assert.equal(switches.filter((event) => event.masterName === 'cache-a').length, 3)
    assert.equal(failovers.length, 1)
    assert.deepEqual([shard!.failovers, shard!.reconnects, shard!.generation], [1, 0, 2])
    assert.deepEqual([other!.failovers, other!.reconnects, other!.generation], [0, 0, 1])
  })

  it('after ten failovers in a row sockets, timers and listeners are as after the first', {
    timeout: 180_000,
  }, async () => {
    const first = await picture()
    const other = await topology.currentMaster('cache-b')
    const ids = await poolClientIds(other)
    const key = keyOf(pool, 'cache-a')
    for (let round = 2; round <= 10; round++) {
      await failOver()
      assert.equal(await pool.set(key, String(round)), 'OK')
      assert.equal(pool.stats().shards[0]!.generation, round + 1)
    }
    assert.equal(await (await topology.currentMaster('cache-a')).command('GET', key), '10')
    const last = await picture()
    assert.deepEqual(
      { ...last, processSockets: undefined, timers: undefined },
      { ...first, processSockets: undefined, timers: undefined },
    )
    // Warm connections for questions to sentinels come and go, at most one each; there is nothing else that may differ.
    assert.ok(
      Math.abs(last.processSockets! - first.processSockets!) <= 3,
      `${first.processSockets} -> ${last.processSockets}`,
    )
    assert.ok(Math.abs((last.timers ?? 0) - (first.timers ?? 0)) <= 6, `${first.timers} -> ${last.timers}`)
    await until('the connections of before at the other shard', async () => {
      return (await poolClientIds(other)).join() === ids.join()
    })
  })
})
