import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { PoolOptions } from '../../../src/options.js'
import { ErrorReply } from '../../../src/redis-client.js'
import { StubConnection, turn } from '../../support/stub-connection.js'
import { A, B, GET, readyShard, SET, type StubShard } from '../../support/stub-shard.js'
import { until } from '../../support/waiting.js'

const shards: StubShard['shard'][] = []
afterEach(() => {
  for (const shard of shards.splice(0)) shard.destroy()
})
async function ready(options: Partial<PoolOptions> = {}) {
  const unit = await readyShard(options)
  shards.push(unit.shard)
  return unit
}

const C = { host: '10.0.0.3', port: 6379 }

describe('a new master', () => {
  it('is the end of everything to the old one, before a waiting call goes on', async () => {
    const unit = await ready()
    const inFlight = unit.call(SET)
    const ended = assert.rejects(inFlight, { code: 'CONNECTION_LOST', outcome: 'unknown' })
    unit.shard.trigger({ reason: 'switch-master', hint: B })
    const held = unit.call(SET)
    await turn()
    assert.deepEqual(unit.first.sent, ['SET'], 'the second write is held')
    const second = new StubConnection((args) => {
      assert.equal(unit.first.ended, true)
      return `${args[0]} answered`
    }, B)
    unit.source.last.found(B, second)
    await ended
    assert.equal(await held, 'SET answered')
    const { generation, address, failovers, state } = unit.shard.stats()
    assert.deepEqual(
      { generation, address, failovers, state },
      { generation: 2, address: B, failovers: 1, state: 'ready' },
    )
    assert.deepEqual(unit.events[0]![1].from, A)
    assert.deepEqual(unit.events[0]![1].to, B)
  })

  it('announced by three sentinels is one failover', async () => {
    const unit = await ready()
    for (let i = 0; i < 3; i++) unit.shard.trigger({ reason: 'switch-master', hint: B })
    await unit.found(B)
    for (let i = 0; i < 3; i++) unit.shard.trigger({ reason: 'switch-master', hint: B })
    await turn()
    assert.equal(unit.source.questions.length, 2)
    assert.deepEqual(unit.names(), ['failover'])
    assert.equal(unit.shard.state, 'ready')
  })

  it('that is a rumour costs nothing: the connection stays, held writes go on in their order', async () => {
    const unit = await ready()
    unit.shard.trigger({ reason: 'switch-master', hint: B })
    assert.equal(unit.shard.state, 'holding')
    const held = [1, 2, 3].map((n) => unit.shard.execute(['SET', String(n)], SET))
    const read = unit.call(GET)
    await turn()
    assert.deepEqual(unit.first.sent, ['GET'], 'reads go on')
    unit.first.reply = (args) => String(args[1])
    const proof = await unit.found(A)
    assert.equal(proof.ended, true)
    assert.deepEqual(await Promise.all(held), ['1', '2', '3'])
    unit.first.calls[0]!.answer('x')
    await read
    assert.deepEqual(unit.first.sent, ['GET', 'SET', 'SET', 'SET'])
    assert.deepEqual(unit.events, [])
    assert.equal(unit.shard.generation, 1)
  })

  it('is told before what waited goes out, and what its listener writes goes out after that', async () => {
    for (const hops of [undefined, 0, 1, 2, 3, 5]) {
      const unit = await ready()
      unit.shard.trigger({ reason: 'switch-master', hint: B })
      const held = ['held 1', 'held 2'].map((value) => unit.shard.execute(['SET', value], SET))
      await turn()
      const push = unit.events.push.bind(unit.events)
      let written: Promise<unknown> | undefined
      unit.events.push = (...items) => {
        const write = () => unit.shard.execute(['SET', 'the listener'], SET)
        const later = async () => {
          for (let i = 0; i < hops!; i++) await null
          return write()
        }
        written ??= hops === undefined ? write() : later()
        return push(...items)
      }
      const sent: unknown[] = []
      await unit.found(B, (args) => {
        if (args[0] === 'SET') sent.push(args[1])
        return 'OK'
      })
      assert.deepEqual(await Promise.all([...held, written]), ['OK', 'OK', 'OK'])
      assert.deepEqual(sent, ['held 1', 'held 2', 'the listener'], `${hops} hops`)
      assert.equal(await unit.call(SET), 'OK', 'and the quick way is open again')
      assert.deepEqual(unit.shard.stats().waiting, 0)
    }
  })

  it('twice in a row, the second while the first is being verified, ends at the last', async () => {
    const unit = await ready()
    unit.shard.trigger({ reason: 'switch-master', hint: B })
    unit.shard.trigger({ reason: 'switch-master', hint: C })
    await until('the second question', () => unit.source.questions.length === 3)
    await unit.found(C)
    assert.deepEqual(unit.shard.address, C)
    assert.deepEqual(unit.names(), ['failover'])
  })
})

describe('held writes', () => {
  it('wait at most holdWritesMs for an announced failover', async () => {
    const unit = await ready({ holdWritesMs: 100 })
    unit.first.reply = () => 'OK'
    unit.shard.announceFailover()
    const startedAt = performance.now()
    assert.equal(await unit.call(SET), 'OK')
    const tookMs = performance.now() - startedAt
    assert.ok(tookMs >= 90 && tookMs < 250, `${tookMs} ms`)
    assert.equal(unit.shard.state, 'ready')
  })

  it('go on as soon as the failover is called off', async () => {
    const unit = await ready()
    unit.first.reply = () => 'OK'
    unit.shard.announceFailover()
    const held = unit.call(SET)
    await turn()
    assert.deepEqual(unit.first.sent, [])
    unit.shard.failoverOver()
    assert.equal(await held, 'OK')
  })

  it('end by their own deadline where that is sooner', async () => {
    const unit = await ready({ commandTimeoutMs: 100, holdWritesMs: 5_000 })
    unit.shard.announceFailover()
    await assert.rejects(unit.call(SET), { code: 'SHARD_UNAVAILABLE', outcome: 'not-sent' })
  })

  it('are not held at all with holdWritesMs 0', async () => {
    const unit = await ready({ holdWritesMs: 0 })
    unit.first.reply = () => 'OK'
    unit.shard.announceFailover()
    assert.equal(await unit.call(SET), 'OK')
  })
})

describe('a lost connection', () => {
  it('to a server that is well is a reconnect, not a failover', async () => {
    const unit = await ready()
    unit.first.destroy(new Error('reset'))
    assert.equal(unit.shard.state, 'rebuilding')
    await until('the question', () => unit.source.questions.length === 2)
    await unit.found(A)
    assert.deepEqual(unit.names(), ['down', 'reconnect'])
    assert.deepEqual([unit.shard.stats().reconnects, unit.shard.stats().failovers], [1, 0])
  })

  it('right after the proof is noticed, and looked into again', async () => {
    const unit = await ready()
    unit.first.destroy(new Error('reset'))
    await until('the question', () => unit.source.questions.length === 2)
    const dead = new StubConnection(undefined, A)
    dead.destroy(new Error('reset at birth'))
    unit.source.last.found(A, dead)
    await until('the next question', () => unit.source.questions.length === 3)
    assert.equal(unit.shard.state, 'rebuilding')
    await unit.found(A, () => 'OK')
    assert.equal(await unit.call(SET), 'OK')
  })

  it('is one outage however long it lasts', async () => {
    const unit = await ready()
    unit.first.destroy(new Error('reset'))
    for (let attempt = 2; attempt < 5; attempt++) {
      await until('the next question', () => unit.source.questions.length === attempt)
      unit.source.last.failed()
    }
    assert.deepEqual(unit.names(), ['down'])
  })
})

describe('a connection that is slow', () => {
  it('is kept: a call that timed out has it probed, and a fresh proof alone does not condemn it', async () => {
    const unit = await ready({ commandTimeoutMs: 5_000 })
    await new Promise((resolve) => setTimeout(resolve, 550))
    await assert.rejects(unit.call(GET, { timeoutMs: 20 }), { code: 'COMMAND_TIMEOUT', outcome: 'unknown' })
    assert.ok(unit.first.sent.includes('PING'))
    await until('the question', () => unit.source.questions.length === 2)
    const proof = await unit.found(A)
    assert.equal(proof.ended, true)
    assert.equal(unit.first.ended, false)
    assert.equal(unit.shard.generation, 1)
  })

  it('and stays silent while the server answers elsewhere is replaced', async () => {
    const unit = await ready({ commandTimeoutMs: 5_000 })
    const call = unit.call(GET)
    await until('the suspicion', () => unit.source.questions.length === 2, 3_000)
    assert.equal(unit.first.ended, false)
    await unit.found(A, () => 'answered')
    assert.equal(unit.first.ended, false, 'its answer may be read a moment later')
    await until('its end', () => unit.first.ended)
    assert.equal(await call, 'answered', 'the read is repeated')
    assert.deepEqual(unit.names(), ['reconnect'])
  })

  it('and answers in the same moment as the server does elsewhere is kept: what it answered is not lost', async () => {
    const unit = await ready({ commandTimeoutMs: 5_000 })
    const call = unit.call(SET)
    await until('the suspicion', () => unit.source.questions.length === 2, 3_000)
    const proof = await unit.found(A)
    for (const one of [...unit.first.calls]) one.answer('OK')
    assert.equal(await call, 'OK')
    await until('the proof to be given up', () => proof.ended)
    assert.deepEqual([unit.first.ended, unit.names()], [false, []])
  })

  it('while the server answers nobody is kept until the deadline', async () => {
    const unit = await ready({ commandTimeoutMs: 2_000 })
    const call = unit.call(SET)
    await until('the suspicion', () => unit.source.questions.length === 2, 3_000)
    unit.source.last.failed(new Error('BUSY'))
    await turn()
    assert.equal(unit.first.ended, false)
    for (const one of [...unit.first.calls]) one.answer('OK')
    assert.equal(await call, 'OK')
  })
})

describe('a failover that is followed ahead of its announcement', () => {
  const checks = ['periodic-check', 'watch-gap'] as const
  for (const reason of checks) {
    it(`is not given up for a ${reason}, which names the old node until then`, async () => {
      const unit = await ready()
      unit.first.reply = () => 'OK'
      unit.shard.trigger({ reason: 'failover-progress', candidate: B })
      const held = unit.call(SET)
      unit.shard.trigger({ reason, hint: A })
      await turn()
      assert.equal(unit.source.last.kind, 'follow')
      assert.equal(unit.source.last.signal.aborted, false)
      await unit.found(B, () => 'from the new one')
      assert.equal(await held, 'from the new one')
      assert.deepEqual(unit.first.sent, [], 'nothing was written to the old master')
    })
  }

  it('is not given up for the announcement of another node, which waits for its end', async () => {
    const unit = await ready()
    unit.shard.trigger({ reason: 'failover-progress', candidate: B })
    const held = unit.call(SET)
    unit.shard.trigger({ reason: 'switch-master', hint: C })
    await turn()
    assert.equal(unit.source.last.signal.aborted, false)
    await unit.found(B, () => 'OK')
    assert.equal(await held, 'OK')
    await turn()
    assert.deepEqual([unit.source.last.kind, unit.source.last.hint], ['resolve', C], 'and is looked into then')
  })
})

describe('a rebuild that finds the same master', () => {
  it('lets those go on who waited for a connection of their own', async () => {
    const unit = await ready()
    unit.first.reply = ([name]) => (name === 'SET' ? new ErrorReply('READONLY no') : 'OK')
    const write = unit.call(SET)
    await turn()
    assert.equal(unit.shard.state, 'rebuilding')
    const waiting = unit.shard.whenReady(new AbortController().signal)
    unit.first.reply = () => 'OK'
    await until('the question', () => unit.source.questions.length === 2)
    await unit.found(A)
    await waiting
    assert.equal(unit.shard.state, 'ready')
    assert.equal(await write, 'OK')
  })
})
