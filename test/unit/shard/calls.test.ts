import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { PoolOptions } from '../../../src/options.js'
import { ErrorReply } from '../../../src/redis-client.js'
import type { CommandProfile } from '../../../src/shard/call.js'
import { turn } from '../../support/stub-connection.js'
import { A, B, GET, readyShard, SET, type StubShard, stubShard } from '../../support/stub-shard.js'
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

const MOVED = new ErrorReply('READONLY You can not write')
const NOT_YET = new ErrorReply('NOREPLICAS Not enough good replicas to write.')
const ANSWERED = new ErrorReply('WRONGTYPE Operation')

type What = 'lost' | 'moved' | 'not-yet' | 'answered'
type Then = 'repeated' | { code: string; outcome?: string } | 'the reply itself'

describe('what becomes of a call that failed', () => {
  const unknown = { code: 'CONNECTION_LOST', outcome: 'unknown' }
  const matrix: [NonNullable<PoolOptions['retry']>, CommandProfile, What, Then][] = [
    ['safe', GET, 'lost', 'repeated'],
    ['safe', SET, 'lost', unknown],
    ['always', GET, 'lost', 'repeated'],
    ['always', SET, 'lost', 'repeated'],
    ['never', GET, 'lost', unknown],
    ['never', SET, 'lost', unknown],
    ['safe', GET, 'moved', 'repeated'],
    ['safe', SET, 'moved', 'repeated'],
    ['never', SET, 'moved', { code: 'SHARD_UNAVAILABLE', outcome: 'not-sent' }],
    ['safe', GET, 'not-yet', 'repeated'],
    ['safe', SET, 'not-yet', 'repeated'],
    ['never', SET, 'not-yet', 'the reply itself'],
    ['safe', SET, 'answered', 'the reply itself'],
    ['always', SET, 'answered', 'the reply itself'],
  ]
  for (const [retry, profile, what, then] of matrix) {
    const result = typeof then === 'string' ? then : `${then.code} (${then.outcome})`
    it(`retry '${retry}', ${profile.readOnly ? 'a read' : 'a write'}, ${what}: ${result}`, async () => {
      for (const perCall of [false, true]) {
        const unit = await ready({ retry: perCall ? 'safe' : retry })
        const call = unit.call(profile, perCall ? { retry } : undefined)
        const ended = call.then(
          (reply) => reply,
          (error: unknown) => error,
        )
        await until('the call to be sent', () => unit.first.calls.length > 0)
        const reply = { moved: MOVED, 'not-yet': NOT_YET, answered: ANSWERED, lost: undefined }[what]
        const asked = unit.source.questions.length
        if (reply === undefined) unit.first.destroy(new Error('reset'))
        else unit.first.calls[0]!.fail(reply)
        let second = unit.first
        if (what === 'lost' || what === 'moved') {
          await until('the master to be looked for', () => unit.source.questions.length > asked)
          second = await unit.found(B)
        }
        if (then === 'repeated') {
          await until('the call to be sent again', () => second.calls.some((one) => one.args[0] === profile.name))
          second.calls.find((one) => one.args[0] === profile.name)!.answer('done')
          assert.equal(await ended, 'done')
          assert.equal(unit.shard.stats().repeats, 1)
        } else {
          const error = (await ended) as { code: string; outcome: string }
          if (then === 'the reply itself') assert.equal(error, reply)
          else assert.deepEqual({ code: error.code, outcome: error.outcome }, then)
          await turn()
          assert.ok(!second.calls.some((one) => one.args[0] === profile.name), 'not sent again')
        }
        assert.equal(unit.shard.stats().inFlight, 0)
      }
    })
  }

  it('a write that the old connection refuses late is repeated on the new one without another rebuild', async () => {
    const unit = await ready()
    const calls = [unit.call(SET), unit.call(SET)]
    await turn()
    const [one, two] = [...unit.first.calls]
    one!.fail(MOVED)
    await until('the master to be looked for', () => unit.source.questions.length === 2)
    two!.fail(MOVED)
    const second = await unit.found(B, () => 'OK')
    assert.deepEqual(await Promise.all(calls), ['OK', 'OK'])
    assert.equal(unit.source.questions.length, 2)
    assert.deepEqual(second.sent, ['SET', 'SET'])
    assert.deepEqual(unit.names(), ['down', 'failover'])
  })

  it('ends at once when the shard closes in the pause between two sends', async () => {
    const unit = await ready({ commandTimeoutMs: 60_000 })
    unit.first.reply = () => NOT_YET
    const ended = assert.rejects(unit.call(SET), { code: 'POOL_CLOSED' })
    await until('the pauses to be long', () => unit.first.sent.length >= 5)
    const closedAt = performance.now()
    unit.shard.destroy()
    await ended
    assert.ok(performance.now() - closedAt < 20)
  })

  it('repeats end at the deadline, with what the server said, and are spaced', async () => {
    const unit = await ready({ commandTimeoutMs: 300 })
    unit.first.reply = (args) => (args[0] === 'PING' ? 'PONG' : NOT_YET)
    const startedAt = performance.now()
    await assert.rejects(unit.call(SET), { message: NOT_YET.message })
    const tookMs = performance.now() - startedAt
    assert.ok(tookMs >= 250 && tookMs < 400, `${tookMs} ms`)
    const tries = unit.first.sent.filter((name) => name === 'SET').length
    assert.ok(tries > 2 && tries < 20, `${tries} tries`)
  })

  it('a refusal that has passed keeps nobody waiting, however short the time of those who come', async () => {
    for (const { pool, own } of [{ pool: 150 }, { pool: 5_000, own: 150 }]) {
      const unit = await ready({ commandTimeoutMs: pool })
      let refuses = true
      unit.first.reply = (args) => (args[0] === 'PING' ? 'PONG' : refuses ? new ErrorReply(NOT_YET.message) : 'OK')
      const calls: Promise<string>[] = []
      const load = async (ms: number) => {
        const end = performance.now() + ms
        while (performance.now() < end) {
          const since = performance.now()
          const told = (how: string) => `${how} ${performance.now() - since < 120 ? 'soon' : 'late'}`
          calls.push(
            unit.call(SET, own === undefined ? undefined : { timeoutMs: own }).then(
              () => told('OK'),
              () => told('refused'),
            ),
          )
          await new Promise((resolve) => setTimeout(resolve, 3))
        }
      }
      await load(500)
      refuses = false
      // The pause that was begun while it refused may still last its quarter of a second.
      await load(400)
      calls.length = 0
      await load(600)
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(['OK soon']))
    }
  })

  it('a call with hardly any time left is sent all the same when it has to wait for a moment only', async () => {
    const unit = await ready()
    unit.first.reply = () => 'OK'
    unit.shard.trigger({ reason: 'switch-master', hint: B })
    const call = unit.call(SET, { timeoutMs: 18 })
    await unit.found(A)
    assert.equal(await call, 'OK')
  })

  it('a lost login replaces the connection and repeats the call', async () => {
    const unit = await ready()
    const call = unit.call(SET)
    await turn()
    unit.first.calls[0]!.fail(new ErrorReply('NOAUTH Authentication required.'))
    await until('the master to be looked for', () => unit.source.questions.length === 2)
    assert.equal(unit.first.ended, true)
    await unit.found(A, () => 'OK')
    assert.equal(await call, 'OK')
  })
})

describe('a call that waits for a master', () => {
  it('ends at its deadline as not sent, and says why', async () => {
    const unit = stubShard({ commandTimeoutMs: 200 })
    shards.push(unit.shard)
    unit.shard.trigger({ reason: 'connect' })
    unit.source.last.failed(new Error('no sentinel'))
    const startedAt = performance.now()
    await assert.rejects(unit.call(GET), (error: Error & { code: string; outcome: string; reason: string }) => {
      assert.deepEqual([error.code, error.outcome, error.reason], ['SHARD_UNAVAILABLE', 'not-sent', 'no-master'])
      assert.equal((error.cause as Error).message, 'no sentinel')
      return true
    })
    assert.ok(performance.now() - startedAt < 300)
  })

  it('is not sent after its caller was told that it was not', async () => {
    const unit = stubShard({ commandTimeoutMs: 5_000 })
    shards.push(unit.shard)
    unit.shard.trigger({ reason: 'connect' })
    const abort = new AbortController()
    const timedOut = unit.call(SET, { timeoutMs: 20 })
    const aborted = unit.call(SET, { abortSignal: abort.signal })
    await assert.rejects(timedOut, (error: { outcome?: string }) => error.outcome === 'not-sent')
    abort.abort()
    await assert.rejects(aborted, { message: 'The command was aborted' })
    await until('the room to be swept', () => unit.shard.stats().waiting === 0)
    const master = await unit.found(A, () => 'OK')
    await turn()
    assert.deepEqual(master.sent, [])
  })

  it('more than maxWaiting are refused at once', async () => {
    const unit = stubShard({ pool: { min: 0, maxWaiting: 2 } })
    shards.push(unit.shard)
    unit.shard.trigger({ reason: 'connect' })
    const waiting = [unit.call(SET), unit.call(SET)]
    await assert.rejects(unit.call(SET), { code: 'SHARD_UNAVAILABLE', reason: 'too-many-waiting', outcome: 'not-sent' })
    const master = await unit.found(A, () => 'OK')
    assert.deepEqual(await Promise.all(waiting), ['OK', 'OK'])
    assert.deepEqual(master.sent, ['SET', 'SET'])
  })
})

describe('a batch', () => {
  const batch = [['MULTI'], ['SET', 'k', 'v'], ['EXEC']]
  const MULTI: CommandProfile = { name: 'MULTI', readOnly: false }

  it('goes out in one run and gives one entry per command, errors too', async () => {
    const unit = await ready()
    unit.first.reply = (args) => (args[0] === 'SET' ? MOVED : 'OK')
    const other = unit.shard.sendBatch(batch, MULTI, undefined)
    assert.deepEqual(await other, ['OK', MOVED, 'OK'])
    assert.deepEqual(unit.first.sent.slice(0, 3), ['MULTI', 'SET', 'EXEC'])
    assert.deepEqual(unit.names(), ['down'], 'READONLY in a batch looks for the master as well')
  })

  it('that was lost is never sent again', async () => {
    const unit = await ready()
    const sent = unit.shard.sendBatch(batch, MULTI, undefined)
    const ended = assert.rejects(sent, { code: 'CONNECTION_LOST', outcome: 'unknown' })
    await turn()
    unit.first.destroy(new Error('reset'))
    await ended
    const second = await unit.found(B)
    await turn()
    assert.deepEqual(second.sent, [])
  })

  it('with an argument that cannot be encoded sends nothing of it', async () => {
    const unit = await ready()
    await assert.rejects(
      unit.shard.sendBatch([['MULTI'], ['SET', 'k', 1 as never], ['EXEC']], MULTI, undefined),
      TypeError,
    )
    assert.deepEqual(unit.first.sent, [])
  })

  it('for which there is no room is refused whole', async () => {
    const unit = await ready({ maxInFlight: 8 })
    const others = Array.from({ length: 6 }, () => unit.call(SET))
    for (const other of others) other.catch(() => {})
    await assert.rejects(unit.shard.sendBatch(batch, MULTI, undefined), { reason: 'too-many-in-flight' })
    await turn()
    assert.deepEqual(unit.first.sent, new Array(6).fill('SET'))
  })

  it('of which a part found no room after all takes its connection along: no MULTI stays open', async () => {
    const unit = await ready()
    unit.first.reply = (args) => (args[0] === 'EXEC' ? new Error('The queue is full') : 'QUEUED')
    await assert.rejects(unit.shard.sendBatch(batch, MULTI, undefined))
    assert.equal(unit.first.ended, true)
  })
})
