// N037, N038, N039, N040, N041, N042, N043, N044, N045, N046, N047, N048: callers who got into each other's way, calls too large, and listeners that fell silent.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { RESP_TYPES, WatchError } from 'redis'
import { LeaseReleasedError } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { ending } from '../support/fake-world.js'
import { keyOf, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { until } from '../support/waiting.js'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('against real servers', () => {
  let topology: LocalTopology
  let pool: TestPool
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
    pool = poolOn(topology, { placementGuard: 'off', commandTimeoutMs: 10_000, pool: { min: 0, max: 4 } })
    await pool.connect()
  })
  after(async () => {
    await pool.close()
    await topology.close()
  })

  it('N037: two who WATCH the same key at once do not see each other’s transaction as their own', async () => {
    let watching = 0
    const attempt = (value: string) =>
      pool.use('watched', async (client) => {
        await client.watch('watched')
        watching++
        await until('both to watch', () => watching === 2)
        return client.multi().set('watched', value).get('watched').exec()
      })
    const [one, two] = await Promise.all([ending(attempt('one')), ending(attempt('two'))])
    const [won, lost] = one.error === undefined ? [one, two] : [two, one]
    assert.ok(lost.error instanceof WatchError, String(lost.error))
    assert.equal((won.reply as string[])[0], 'OK')
    assert.equal(await pool.get('watched'), (won.reply as string[])[1])
    await assert.rejects((pool as unknown as { watch(key: string): Promise<unknown> }).watch('watched'))
  })

  it('N038: what is put on a transaction after its lease has ended reaches nobody', async () => {
    await pool.set('mine', '1')
    const lease = await pool.acquire('mine')
    const transaction = lease.client.multi().incr('mine')
    await transaction.exec()
    await lease.release()
    const late = ending(Promise.resolve().then(() => transaction.del('mine').exec()))
    assert.ok((await late).error instanceof LeaseReleasedError)
    assert.equal(await pool.use('mine', (client) => client.get('mine')), '2')
  })

  it('N039, N040: blocking calls wait side by side, longer than a call may take, and hold nobody up', async () => {
    const impatient = poolOn(topology, { placementGuard: 'off', commandTimeoutMs: 200, pool: { min: 0, max: 4 } })
    await impatient.connect()
    const startedAt = performance.now()
    const waits = Array.from({ length: 4 }, () => impatient.blPop('no-such-list', 0.8))
    const reads = Array.from({ length: 20 }, () => impatient.get('k'))
    await Promise.all(reads)
    assert.ok(performance.now() - startedAt < 600)
    assert.deepEqual(await Promise.all(waits), [null, null, null, null])
    const tookMs = performance.now() - startedAt
    assert.ok(tookMs >= 790 && tookMs < 2_400, `${tookMs} ms`)
    await impatient.close()
  })

  it('N041, N042: two hundred thousand keys, fields, members or commands in one call', async () => {
    const keys = Array.from({ length: 200_000 }, (_, i) => `many:${i}`)
    assert.equal(await pool.mSet(keys.map((key): [string, string] => [key, 'v'])), 'OK')
    assert.equal(await pool.mSet(Object.fromEntries(keys.map((key) => [key, 'w']))), 'OK')
    assert.equal((await pool.mGet(keys)).filter((value) => value === 'w').length, keys.length)
    assert.equal(await pool.hSet('hash', Object.fromEntries(keys.map((key) => [key, 'v']))), keys.length)
    assert.equal(Object.keys(await pool.hGetAll('hash')).length, keys.length)
    assert.equal(await pool.sAdd('set', keys), keys.length)
    assert.equal(await pool.del([...keys, 'hash', 'set']), keys.length + 2)
    assert.equal(await pool.sendCommand(['DEL', ...keys.map((key) => `{one}${key}`)]), 0)
    const pipeline = pool.pipeline()
    for (const key of keys.slice(0, 50_000)) pipeline.set(key, '1')
    assert.equal((await pipeline.exec()).length, 50_000)
    await pool.flushAll()
  })

  it('N043: a scan ends although the cursor comes as bytes', async () => {
    const keys = Array.from({ length: 500 }, (_, i) => `scan:${i}`)
    await pool.mSet(keys.flatMap((key) => [key, 'v']))
    await pool.hSet('scan-hash', Object.fromEntries(keys.map((key) => [key, 'v'])))
    await pool.sAdd('scan-set', keys)
    const bytes = pool.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const count = async (pages: AsyncIterable<readonly unknown[]>) => {
      let found = 0
      for await (const page of pages) {
        found += page.length
        assert.ok(found <= 2 * keys.length + 10, 'it goes round and round')
      }
      return found
    }
    assert.ok((await count(bytes.scanIterator({ MATCH: 'scan:*', COUNT: 50 }))) >= keys.length)
    assert.ok((await count(bytes.hScanIterator('scan-hash', { COUNT: 50 }))) >= keys.length)
    assert.ok((await count(bytes.sScanIterator('scan-set', { COUNT: 50 }))) >= keys.length)
    await pool.use('scan-set', async (client) => {
      const leased = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
      assert.ok((await count(leased.sScanIterator('scan-set', { COUNT: 50 }))) >= keys.length)
    })
  })

  for (const RESP of [2, 3] as const) {
    it(`N044: PING and everything else work while channels are subscribed (RESP${RESP})`, async () => {
      const own = poolOn(topology, { placementGuard: 'off', client: { RESP } as object, heartbeatMs: 100 })
      await own.connect()
      const heard: string[] = []
      await own.subscribe('news', (message) => heard.push(message))
      assert.equal(await own.ping(), 'PONG')
      assert.equal(await own.set('k', 'v'), 'OK')
      // Some heartbeats on the subscribed connection, which RESP2 answers in another form.
      await pause(350)
      assert.equal(await own.publish('news', 'one'), 1)
      await until('the message', () => heard.length === 1)
      assert.deepEqual(
        own.stats().shards.map(({ reconnects }) => reconnects),
        [0, 0],
      )
      await own.close()
    })
  }

  it('N045: a listener that throws takes no message from the others, and its connection stays', async () => {
    const told: Error[] = []
    const onError = (error: Error) => void told.push(error)
    pool.on('error', onError)
    const heard: string[] = []
    const bad = () => {
      throw new Error('the listener’s own')
    }
    await pool.subscribe('thrown', bad)
    await pool.subscribe('thrown', (message) => heard.push(message))
    for (const message of ['1', '2', '3']) assert.equal(await pool.publish('thrown', message), 1)
    await until('the messages', () => heard.length === 3)
    await pause(50)
    assert.deepEqual(
      [heard, told.map(({ message }) => message)],
      [['1', '2', '3'], Array(3).fill('the listener’s own')],
    )
    await pool.unsubscribe('thrown')
    pool.off('error', onError)
  })

  it('N046: who subscribes and unsubscribes while the connection is away has in the end what was asked for last', async () => {
    const heard: string[] = []
    const listener = (message: string, channel: string) => void heard.push(`${channel}:${message}`)
    const nodes = await Promise.all(topology.masters.map((name) => topology.currentMaster(name)))
    const channels = Array.from({ length: 40 }, (_, i) => `channel-${i}`)
    await pool.subscribe(channels, listener)
    for (let round = 0; round < 3; round++) {
      const cutting = nodes.map((node) => node.command('CLIENT', 'KILL', 'TYPE', 'pubsub'))
      const changing = channels.map((channel, i) =>
        (i + round) % 2 === 0 ? pool.unsubscribe(channel, listener) : pool.subscribe(channel, listener),
      )
      await Promise.all([...cutting, ...changing])
    }
    // In the last round, 2, the even ones were left and the odd ones entered.
    for (const channel of channels) {
      const odd = Number(channel.slice('channel-'.length)) % 2 === 1
      await until(
        `${channel} to be heard or left`,
        async () => (await pool.publish(channel, 'probe')) === (odd ? 1 : 0),
      )
    }
    await until('the last probe', () => heard.includes('channel-39:probe'))
    assert.ok(heard.every((line) => Number(/-(\d+):/.exec(line)![1]) % 2 === 1))
    heard.length = 0
    assert.equal(await pool.publish('channel-1', 'once'), 1)
    await until('it', () => heard.length > 0)
    await pause(30)
    assert.deepEqual(heard, ['channel-1:once'])
    await pool.unsubscribe()
  })

  it('N047: two thousand channels come back after their connection was closed by the server', async () => {
    let heard = 0
    const channels = Array.from({ length: 2_000 }, (_, i) => `${keyOf(pool, 'cache-a', `c${i % 7}-`)}:${i}`)
    await Promise.all(channels.map((channel) => pool.subscribe(channel, () => heard++)))
    const node = await topology.currentMaster('cache-a')
    await node.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await until('the subscriptions', async () => {
      const counts = await Promise.all(
        [channels[0]!, channels[999]!, channels[1_999]!].map((c) => pool.publish(c, 'x')),
      )
      return counts.every((count) => count === 1)
    })
    await until('a message', () => heard >= 3)
    await pool.unsubscribe()
    assert.equal(await pool.publish(channels[0]!, 'x'), 0)
  })

  it('N048: a time-out of 24 days, or none, is not one of a millisecond; a longer one is refused, as no timer can keep it', async () => {
    const warned: string[] = []
    const listener = ({ message }: Error) => void warned.push(message)
    process.on('warning', listener)
    for (const timeout of [2 ** 31, Number.POSITIVE_INFINITY, Number.NaN, -1]) {
      assert.throws(() => pool.withCommandOptions({ timeout }), { code: 'INVALID_OPTIONS' })
    }
    for (const timeout of [2 ** 31 - 1, 0, undefined]) {
      const view = pool.withCommandOptions({ timeout })
      assert.equal(await view.blPop('no-such-list', 0.05), null)
      assert.equal(await view.sendCommand(['PING']).then(String), 'PONG')
      assert.deepEqual(await view.mGet(['a', 'b']), [null, null])
    }
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listener)
    assert.deepEqual(warned, [])
  })
})
