import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidKeyError, PoolClosedError, ShardedSentinelPool } from '../../src/index.js'

const options = { masters: ['cache-a', 'cache-b'], sentinels: ['127.0.0.1:1'] }

describe('pool: before connect()', () => {
  it('says where a key lives, as text and as bytes alike, and puts keyPrefix before it', () => {
    const pool = new ShardedSentinelPool(options)
    const prefixed = new ShardedSentinelPool({ ...options, client: { keyPrefix: 'app:' } })
    for (let i = 0; i < 50; i++) {
      const key = `user:${i}`
      assert.equal(pool.locate(key), pool.ring.shards[pool.ring.locate(key)]?.name)
      assert.equal(pool.locate(Buffer.from(key)), pool.locate(key))
      assert.equal(prefixed.locate(key), pool.locate(`app:${key}`))
    }
    assert.throws(() => pool.locate(7 as never), InvalidKeyError)
  })

  it('refuses every call with PoolClosedError and not-sent, and opens nothing', async () => {
    const pool = new ShardedSentinelPool(options)
    const closed = (error: unknown) => error instanceof PoolClosedError && error.outcome === 'not-sent'
    await assert.rejects(pool.get('k'), closed)
    await assert.rejects(pool.mGet(['a', 'b', 'c']), closed)
    await assert.rejects(pool.acquire('k'), closed)
    await assert.rejects(
      pool.use('k', () => 1),
      closed,
    )
    await assert.rejects(pool.multi().get('k').exec(), closed)
    await assert.rejects(
      pool.shards[0]!.use(() => 1),
      closed,
    )
    await assert.rejects(pool.shards[0]!.sendCommand(['PING']), closed)
    assert.deepEqual(pool.stats(), { shards: [], sentinels: [] })
    assert.equal(pool.isOpen, false)
    assert.equal(pool.isReady, false)
  })

  it('shows a shard as one that has no master yet, with all its figures at 0', () => {
    const [handle] = new ShardedSentinelPool({ ...options, pool: { max: 3 } }).shards
    assert.equal(handle!.address, undefined)
    assert.equal(handle!.state, 'connecting')
    const { name, state, calls, sockets, leases } = handle!.stats
    assert.deepEqual([name, state, calls, sockets, leases.size, leases.max], ['cache-a', 'connecting', 0, 0, 0, 3])
  })

  it('can be closed and destroyed, twice and in any order', async () => {
    const pool = new ShardedSentinelPool(options)
    await pool.close()
    pool.destroy()
    await pool.close()
    pool.destroy()
  })

  it('rejects connect() with what each sentinel said when none can be reached, and can try again', async () => {
    const pool = new ShardedSentinelPool({ ...options, connectDeadlineMs: 1_000 })
    for (let i = 0; i < 2; i++) {
      await assert.rejects(pool.connect(), (error: { code?: string; answers?: unknown[] }) => {
        assert.equal(error.code, 'SENTINELS_UNREACHABLE')
        assert.equal(error.answers?.length, 1)
        return true
      })
      assert.equal(pool.isOpen, false)
    }
  })

  it('makes a duplicate with the same options and others over them', () => {
    const pool = new ShardedSentinelPool({ ...options, client: { password: 'secret', database: 3 } })
    const copy = pool.duplicate({ masters: ['cache-a'] })
    assert.equal(copy.locate('any'), 'cache-a')
    assert.deepEqual(copy.options, { RESP: 3, database: 3 })
  })

  it('refuses a listener for what can only be a typo of an event, and lets any other name be', () => {
    const pool = new ShardedSentinelPool(options)
    for (const method of ['on', 'once', 'addListener'] as const) {
      assert.throws(() => pool[method]('failvoer' as never, () => {}), {
        code: 'INVALID_OPTIONS',
        message: /no event 'failvoer'; did you mean 'failover'/,
      })
      pool[method]('close' as never, () => {})
      pool[method]('invalidate' as never, () => {})
    }
    assert.throws(() => pool.withReadFrom('master').on('shard_down' as never, () => {}), /shard-down/)
  })
})
