import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolOn } from '../support/pool-on-topology.js'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

// A real server: one in this process would be as late as the process is, and the last try of a call has 20 ms.
describe('a master that refuses writes for want of replicas', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: 1, replicas: 0, sentinels: 1, downAfterMs: 30_000 })
    await topology.shard(topology.masters[0]!).nodes[0]!.command('CONFIG', 'SET', 'min-replicas-to-write', '5')
  })
  after(() => topology.close())

  it('all the time: every write ends as the server told it, whenever it was made and whatever its time-out', async () => {
    await using pool = await poolOn(topology, { commandTimeoutMs: 600 }).connect()
    const key = keyOf(pool, topology.masters[0]!)
    const calls: Promise<string>[] = []
    for (let i = 0; i < 300; i++) {
      const client = i % 5 === 0 ? pool.withCommandOptions({ timeout: 100 + i }) : pool
      calls.push(client.set(key, String(i)).then(String, ({ message }: Error) => message.split(' ')[0]!))
      await pause(4)
    }
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(['NOREPLICAS']))
    assert.equal(pool.stats().shards[0]!.waiting, 0)
    assert.equal(await pool.exists(key), 0)
  })

  it('tells each caller in an error of its own, with nobody else’s replies', async () => {
    await using pool = await poolOn(topology, { commandTimeoutMs: 300 }).connect()
    const key = keyOf(pool, topology.masters[0]!)
    const callers = await Promise.all(
      ['alice', 'bob', 'carol'].map((who) =>
        pool
          .pipeline()
          .echo(who)
          .set(key, who)
          .exec()
          .then(
            () => assert.fail('refused'),
            (error: Error & { replies: readonly unknown[]; errorIndexes: readonly number[] }) => error,
          ),
      ),
    )
    const single = await pool.set(key, 'v').then(
      () => assert.fail('refused'),
      (error: Error) => error,
    )
    assert.deepEqual(
      callers.map(({ replies }) => replies[0]),
      ['alice', 'bob', 'carol'],
    )
    for (const error of callers) {
      assert.deepEqual(error.errorIndexes, [1])
      assert.match(error.message, /^NOREPLICAS/)
      assert.equal(typeof JSON.stringify(error), 'string', 'a log can hold it')
    }
    assert.equal(new Set([...callers, single]).size, 4)
    assert.equal('replies' in single, false)
  })
})
