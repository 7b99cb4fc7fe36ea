import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ErrorReply } from '../../../src/redis-client.js'
import { SharedConnection } from '../../../src/shard/shared-connection.js'
import { StubConnection, turn } from '../../support/stub-connection.js'

const TICK_MS = 50

function shared(settings: { commandTimeoutMs?: number; heartbeatMs?: number; answered?: () => number } = {}) {
  const stub = new StubConnection()
  const lost: Error[] = []
  let late = 0
  const connection = new SharedConnection(stub.asConnection, 0, {
    generation: 1,
    commandTimeoutMs: 1_000,
    heartbeatMs: 5_000,
    tickMs: TICK_MS,
    onLost: (_, cause) => lost.push(cause),
    onLate: () => {
      late++
    },
    ...settings,
  })
  let now = 0
  const tick = (ms: number, stalledMs: number) => {
    now += ms
    connection.tick(now, stalledMs)
  }
  const stall = (ms: number) => tick(ms, ms - 2 * TICK_MS)
  /** Lets time go by, tick after tick. */
  const pass = (ms: number) => {
    for (const end = now + ms; now < end; ) tick(TICK_MS, 0)
  }
  const pings = () => stub.sent.filter((name) => name === 'PING').length
  return {
    stub,
    connection,
    lost,
    pass,
    pings,
    stall,
    get late() {
      return late
    },
    get now() {
      return now
    },
  }
}

describe('fence of a shared connection', () => {
  it('sends nothing of its own while nothing is called, but for a heartbeat', () => {
    const s = shared()
    s.pass(4_900)
    assert.equal(s.pings(), 0)
    s.pass(100)
    assert.equal(s.pings(), 1)
  })

  it('rests until the stroke of the heartbeat, which is the same for all, and not while an answer is due', async () => {
    const s = shared()
    assert.equal(s.connection.restsUntil(), 5_000)
    void s.connection.send(['GET', 'k'], undefined)
    assert.equal(s.connection.restsUntil(), 0)
    s.pass(300)
    assert.equal(s.connection.restsUntil(), 0)
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    assert.equal(s.connection.restsUntil(), 5_000)
    s.pass(4_700)
    assert.equal(s.pings(), 2)
    for (const call of [...s.stub.calls]) call.answer('PONG')
    await turn()
    assert.equal(s.connection.restsUntil(), 10_000)
  })

  it('follows calls with one PING, not one each', () => {
    const s = shared()
    for (let i = 0; i < 100; i++) void s.connection.send(['GET', 'k'], undefined).catch(() => {})
    s.pass(250)
    assert.equal(s.pings(), 1)
    s.stub.calls.at(-1)!.answer('PONG')
    s.pass(1_000)
    assert.equal(s.pings(), 1)
  })

  it('a call that is never answered ends by its deadline, wherever between two fences it was sent', async () => {
    for (let offset = 0; offset < 300; offset += TICK_MS) {
      const s = shared()
      // Traffic before it, that is answered.
      void s.connection.send(['GET', 'before'], undefined)
      s.pass(250 + offset)
      for (const call of [...s.stub.calls]) call.answer('x')
      await turn()
      const sentAt = s.now
      const call = s.connection.send(['GET', 'k'], undefined)
      const ended = assert.rejects(call)
      let tookMs = 0
      while (!s.stub.ended && tookMs < 5_000) {
        s.pass(TICK_MS)
        tookMs = s.now - sentAt
      }
      await ended
      assert.ok(tookMs <= 1_000 + TICK_MS, `${tookMs} ms at offset ${offset}`)
      assert.ok(tookMs >= 500, `not much too early: ${tookMs} ms`)
      assert.equal(s.connection.timedOut, true)
      assert.equal(s.lost.length, 1)
    }
  })

  it('an answer keeps it, also an error reply: BUSY is alive', async () => {
    const s = shared()
    for (let round = 0; round < 20; round++) {
      void s.connection.send(['GET', 'k'], undefined).catch(() => {})
      s.pass(250)
      for (const call of [...s.stub.calls]) {
        if (call.args[0] === 'PING') call.fail(new ErrorReply('BUSY Redis is busy running a script.'))
        else call.answer('x')
      }
      await turn()
    }
    assert.equal(s.stub.ended, false)
    assert.deepEqual(s.lost, [])
  })

  it('is reported late once, and again only after it had been well', async () => {
    const s = shared({ commandTimeoutMs: 5_000 })
    void s.connection.send(['GET', 'k'], undefined).catch(() => {})
    s.pass(250 + 450)
    assert.deepEqual([s.late, s.connection.late], [0, false])
    s.pass(300)
    assert.deepEqual([s.late, s.connection.late], [1, true])
    s.pass(1_000)
    assert.equal(s.late, 1)
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    assert.equal(s.connection.late, false)
    void s.connection.send(['GET', 'k'], undefined).catch(() => {})
    s.pass(1_000)
    assert.equal(s.late, 2)
  })

  it('the time this process itself stood still is not held against the server', async () => {
    const s = shared()
    const call = s.connection.send(['GET', 'k'], undefined)
    s.pass(250)
    s.stall(60_000)
    assert.equal(s.stub.ended, false)
    for (const one of [...s.stub.calls]) one.answer('x')
    assert.equal(await call, 'x')
    s.pass(2_000)
    assert.equal(s.stub.ended, false)
  })

  it('a frozen server is found out also when the queue is so full that no PING fits', async () => {
    const s = shared()
    const call = s.connection.send(['GET', 'k'], undefined)
    const ended = assert.rejects(call)
    s.stub.reply = () => new Error('The queue is full')
    let waited = 0
    for (; !s.stub.ended && waited < 5_000; waited += TICK_MS) {
      s.pass(TICK_MS)
      await turn()
    }
    await ended
    assert.ok(waited <= 1_000 + TICK_MS, `${waited} ms`)
  })

  it('a PING that found the queue full is taken along by a later one that is answered', async () => {
    const s = shared()
    void s.connection.send(['GET', 'k'], undefined).catch(() => {})
    s.stub.reply = () => new Error('The queue is full')
    s.pass(250)
    await turn()
    s.stub.reply = (args) => (args[0] === 'PING' ? 'PONG' : undefined)
    for (let i = 0; i < 10; i++) {
      s.pass(250)
      await turn()
    }
    assert.equal(s.stub.ended, false)
    assert.equal(s.connection.late, false)
  })

  it('without a deadline of calls no silence ends it; it is reported late, and one PING is on its way, not thousands', async () => {
    const s = shared({ commandTimeoutMs: 0, heartbeatMs: 2_000 })
    s.pass(2_000)
    assert.equal(s.pings(), 1)
    for (let i = 0; i < 100; i++) {
      void s.connection.send(['GET', 'k'], undefined).catch(() => {})
      s.pass(500)
    }
    assert.deepEqual([s.stub.ended, s.late, s.connection.quiet, s.pings()], [false, 1, false, 1])
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    s.pass(500)
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    assert.deepEqual([s.connection.late, s.connection.quiet], [false, true])
  })

  it('a probe asks now, unless somebody has asked already', () => {
    const s = shared()
    s.connection.probe(0)
    s.connection.probe(0)
    assert.equal(s.pings(), 1)
  })

  it('its end is told once, and after it nothing is sent', async () => {
    const s = shared()
    s.stub.destroy(new Error('reset'))
    s.connection.destroy(new Error('again'))
    s.pass(10_000)
    assert.deepEqual(
      s.lost.map((cause) => cause.message),
      ['reset'],
    )
    assert.equal(s.pings(), 0)
  })
})

describe('lateness', () => {
  it('is no reason to suspect a connection on which bytes still move, and is one when they stop', () => {
    const s = shared({ commandTimeoutMs: 5_000 })
    let moves = true
    s.stub.moved = () => moves
    s.connection.send(['GET', 'large'], undefined).catch(() => {})
    s.pass(3_000)
    assert.equal(s.late, 0)
    moves = false
    s.pass(600)
    assert.equal(s.late, 1)
    assert.equal(s.connection.late, true)
  })

  it('is none either while calls are answered one after another', () => {
    let answered = 0
    const s = shared({ commandTimeoutMs: 5_000, answered: () => answered })
    s.connection.send(['EVAL', 'slow'], undefined).catch(() => {})
    for (let i = 0; i < 30; i++) {
      answered++
      s.pass(100)
    }
    assert.equal(s.late, 0)
  })

  it('comes later by the time that a large write takes on a slow line, once', async () => {
    const s = shared({ commandTimeoutMs: 60_000 })
    s.stub.largestWrite = 300_000
    s.connection.send(['SET', 'large'], undefined).catch(() => {})
    s.pass(3_400)
    assert.equal(s.late, 0)
    s.pass(700)
    assert.equal(s.late, 1)
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    s.connection.send(['GET', 'small'], undefined).catch(() => {})
    s.pass(1_000)
    assert.equal(s.late, 2)
  })

  it('of calls comes after a heartbeat where the socket is not seen, that of a heartbeat at once', async () => {
    const s = shared({ commandTimeoutMs: 60_000, heartbeatMs: 3_000 })
    s.stub.seen = false
    s.connection.send(['SET', 'k'], undefined).catch(() => {})
    s.pass(3_500)
    assert.equal(s.late, 0)
    s.pass(500)
    assert.equal(s.late, 1)
    for (const call of [...s.stub.calls]) call.answer('x')
    await turn()
    s.pass(3_000 + 700)
    assert.equal(s.late, 2)
  })
})
