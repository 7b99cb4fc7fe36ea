import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { afterEach, describe, it } from 'node:test'
import { ErrorReply } from '../../../src/redis-client.js'
import { turn } from '../../support/stub-connection.js'
import { A, GET, readyShard, SET, type StubShard, stubShard } from '../../support/stub-shard.js'
import { until } from '../../support/waiting.js'

const shards: StubShard['shard'][] = []
afterEach(() => {
  for (const shard of shards.splice(0)) shard.destroy()
})

describe('shard: close', () => {
  it('waits for what is in flight and gives its real results', async () => {
    const { shard, first, call } = await readyShard()
    const calls = [call(SET), call(GET)]
    await turn()
    const closing = shard.close(1_000)
    await turn()
    for (const one of [...first.calls]) one.answer('done')
    assert.deepEqual(await Promise.all(calls), ['done', 'done'])
    await closing
    assert.equal(first.ended, true)
    assert.equal(shard.state, 'closed')
  })

  it('waits for what is being repeated', async () => {
    const { shard, first, call } = await readyShard()
    let refusals = 3
    first.reply = (args) => (args[0] === 'SET' && refusals-- > 0 ? new ErrorReply('NOREPLICAS Not enough') : 'OK')
    const write = call(SET)
    await turn()
    await shard.close(1_000)
    assert.equal(await write, 'OK')
  })

  it('with nothing to wait for takes no time, also while the shard has no master', async () => {
    const { shard, first } = await readyShard()
    first.destroy(new Error('reset'))
    const startedAt = performance.now()
    await shard.close(5_000)
    assert.ok(performance.now() - startedAt < 100)
  })

  it('ends at its bound, and what is left rejects as unknown or as not sent', async () => {
    const { shard, first, call, source } = await readyShard()
    const inFlight = call(SET)
    const ended = assert.rejects(inFlight, { code: 'POOL_CLOSED', outcome: 'unknown' })
    await turn()
    const startedAt = performance.now()
    await shard.close(100)
    assert.ok(performance.now() - startedAt < 250)
    await ended
    assert.equal(first.ended, true)
    assert.equal(source.questions.length, 1)
    await assert.rejects(shard.execute(['GET', 'k'], GET), { code: 'POOL_CLOSED', outcome: 'not-sent' })
    await assert.rejects(shard.acquire(), { code: 'POOL_CLOSED' })
  })

  it('is ended by destroy at once', async () => {
    const { shard, call } = await readyShard()
    call(SET).catch(() => {})
    const startedAt = performance.now()
    const closing = shard.close(5_000)
    await turn()
    shard.destroy()
    await closing
    assert.ok(performance.now() - startedAt < 100)
    shard.destroy()
  })

  it('in the middle of a search aborts it, and an answer that comes after is destroyed', async () => {
    const { shard, first, source } = await readyShard()
    first.destroy(new Error('reset'))
    await until('the question', () => source.questions.length === 2)
    const late = source.last
    shard.destroy()
    assert.equal(late.signal.aborted, true)
    const connection = late.found(A)
    await turn()
    assert.ok(connection.ended || shard.stats().sockets === 0)
    assert.equal(shard.stats().sockets, 0)
  })

  it('inside the listener of a failover leaves nothing', async () => {
    const unit = await readyShard()
    const listener = unit.events
    unit.shard.trigger({ reason: 'switch-master', hint: { host: '10.0.0.2', port: 6379 } })
    const push = listener.push.bind(listener)
    listener.push = (...items) => {
      unit.shard.destroy()
      return push(...items)
    }
    const second = await unit.found({ host: '10.0.0.2', port: 6379 })
    assert.equal(second.ended, true)
    assert.equal(unit.shard.state, 'closed')
    assert.equal(unit.shard.stats().sockets, 0)
  })
})

describe('shard: whenReady', () => {
  it('resolves with the first master and leaves nothing on the signal', async () => {
    const unit = stubShard()
    shards.push(unit.shard)
    const { signal } = new AbortController()
    const ready = unit.shard.whenReady(signal)
    unit.shard.trigger({ reason: 'connect' })
    await unit.found()
    await ready
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    await unit.shard.whenReady(signal)
  })

  it('rejects when the signal aborts', async () => {
    const unit = stubShard()
    shards.push(unit.shard)
    const abort = new AbortController()
    const ready = unit.shard.whenReady(abort.signal)
    abort.abort(new Error('too long'))
    await assert.rejects(ready, /too long/)
  })
})
