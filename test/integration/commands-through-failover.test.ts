import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { defineScript } from 'redis'
import type { LeaseReleasedError } from '../../src/errors.js'
import { ShardedSentinelPool } from '../../src/pool.js'
import { LocalTopology } from '../../src/testing/index.js'

const addUp = defineScript({
  SCRIPT: 'return redis.call("INCRBY", KEYS[1], ARGV[1])',
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key: string, by: number) {
    parser.pushKey(key)
    parser.push(by.toString())
  },
  transformReply: (reply: unknown) => Number(reply),
})

function makePool(topology: LocalTopology) {
  return new ShardedSentinelPool({
    masters: topology.masters,
    sentinels: topology.sentinels,
    client: { scripts: { addUp } },
  })
}

/** A name that the ring gives to this shard. */
function nameOn(pool: { locate(key: string): string }, shard: string, stem: string): string {
  for (let i = 0; ; i++) if (pool.locate(`${stem}${i}`) === shard) return `${stem}${i}`
}

describe('commands through a failover', () => {
  let topology: LocalTopology
  let pool: ReturnType<typeof makePool>

  before(async () => {
    topology = await LocalTopology.start({
      shards: ['moved', 'other'],
      replicas: 2,
      sentinels: 3,
      downAfterMs: 500,
      fast: true,
    })
    pool = makePool(topology)
    await pool.connect()
  })

  beforeEach(() => topology.waitUntilSettled({ hurry: true }))

  after(async () => {
    await pool.close()
    await topology[Symbol.asyncDispose]()
  })

  test('a blocked pop rejects at once with LEASE_RELEASED; what is pushed afterwards is popped exactly once', async () => {
    const key = nameOn(pool, 'moved', 'queue')
    const elsewhere = nameOn(pool, 'other', 'queue')
    const started = Date.now()
    const blocked = pool.blPop(key, 0).then(
      () => assert.fail('popped'),
      (error: LeaseReleasedError) => ({ error, after: Date.now() - started }),
    )
    const undisturbed = pool.blPop(elsewhere, 0)
    await new Promise((resolve) => setTimeout(resolve, 100))
    await topology.failover('moved')
    const { error, after: ms } = await blocked
    assert.deepEqual([error.code, error.why, error.shard], ['LEASE_RELEASED', 'failover', 'moved'])
    assert.ok(ms < 8_000, `${ms} ms`)
    const next = pool.blPop(key, 5)
    await pool.rPush(key, 'job')
    assert.deepEqual(await next, { key, element: 'job' })
    assert.equal(await pool.lLen(key), 0)
    await pool.rPush(elsewhere, 'kept')
    assert.equal((await undisturbed)?.element, 'kept')
  })

  test('subscriptions come back once each and tell of the gap; a script and a transaction go on', async () => {
    const channel = nameOn(pool, 'moved', 'channel')
    const key = nameOn(pool, 'moved', 'counter')
    const heard: string[] = []
    const byPattern: string[] = []
    const gaps: { readonly shard: string }[] = []
    pool.on('subscription-gap', (gap) => gaps.push(gap))
    await pool.subscribe(channel, (message) => heard.push(message))
    await pool.pSubscribe('channel*', (message) => byPattern.push(message))
    assert.equal(await pool.addUp(key, 1), 1)
    assert.ok((await pool.wait(1, 2_000)) >= 1)
    let sent = 0
    const publishing = setInterval(() => void pool.publish(channel, String(sent++)).catch(() => {}), 20)
    try {
      await topology.failover('moved')
      const before = heard.length
      while (heard.length < before + 20) await new Promise((resolve) => setTimeout(resolve, 20))
    } finally {
      clearInterval(publishing)
    }
    assert.equal(new Set(heard).size, heard.length, 'no message twice')
    assert.equal(new Set(byPattern).size, byPattern.length, 'no message twice by pattern')
    assert.ok(gaps.length >= 1 && gaps.every(({ shard }) => shard === 'moved'), JSON.stringify(gaps))
    assert.deepEqual({ ...(await pool.pubSubNumSub(channel)) }, { [channel]: 1 })
    assert.equal(await pool.addUp(key, 1), 2, 'the new master had never seen the script')
    assert.deepEqual(await pool.multi().incr(key).get(key).exec(), [3, '3'])
    assert.deepEqual(await pool.pipeline().addUp(key, 1).get(key).exec(), [4, '4'])
    await pool.unsubscribe()
    await pool.pUnsubscribe()
    assert.equal(pool.isPubSubActive, false)
  })

  test('scanIterator through a failover yields every key that is there all the time', async () => {
    const names = Array.from({ length: 3_000 }, (_, i) => `scan:${i}`)
    await pool.mSet(names.flatMap((name) => [name, '1']))
    await pool.wait(2, 2_000)
    const seen = new Set<string>()
    let pages = 0
    for await (const keys of pool.scanIterator({ MATCH: 'scan:*', COUNT: 50 })) {
      for (const key of keys) seen.add(key)
      if (++pages === 35) await topology.failover('other')
    }
    assert.equal(seen.size, names.length)
  })
})
