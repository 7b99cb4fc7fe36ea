// B018: blocking pops ended in an untyped UNBLOCKED, or hung for ever, when their master was demoted, replaced or frozen.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { keyOf, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

describe('a pop blocks while its master', () => {
  let topology: LocalTopology
  let pool: TestPool
  let key: string
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a'] })
    pool = poolOn(topology, { commandTimeoutMs: 2_000 })
    await pool.connect()
    key = keyOf(pool, 'cache-a')
  })
  after(async () => {
    pool.destroy()
    await topology.close()
  })

  const blocked = async () => {
    const master = await topology.currentMaster('cache-a')
    await until('the pop to block', async () =>
      /^blocked_clients:1\r?$/m.test(String(await master.command('INFO', 'clients'))),
    )
  }

  async function assertEnds(harm: () => Promise<unknown>): Promise<void> {
    const followed = nextEvent(pool, 'failover')
    const pop = ending(pool.blPop(key, 0))
    await blocked()
    await harm()
    const { error } = await pop
    const { code, why } = error as { code: string; why: string }
    assert.ok(
      (code === 'LEASE_RELEASED' && why === 'failover') || code === 'CONNECTION_LOST',
      `${code} ${why}: ${String(error)}`,
    )
    await followed
    const next = pool.blPop(key, 5)
    await pool.rPush(key, 'once')
    assert.deepEqual(await next, { key, element: 'once' })
    assert.equal(await pool.lLen(key), 0)
  }

  it('is replaced by an ordered failover: it ends typed, and the next pop is served by the new one, once', async () => {
    await assertEnds(() => topology.failover('cache-a', { until: 'agreed' }))
    await topology.waitUntilSettled({ hurry: true })
  })

  it('goes on past commandTimeoutMs: its own wait is no time-out', async () => {
    const quick = poolOn(topology, { commandTimeoutMs: 300 })
    await quick.connect()
    const { reply, tookMs } = await ending(quick.blPop(key, 1))
    await quick.close()
    assert.equal(reply, null)
    assert.ok(tookMs > 900)
  })

  it('is frozen: it ends typed when the shard has moved', async () => {
    await assertEnds(() => topology.freezeMaster('cache-a'))
  })
})
