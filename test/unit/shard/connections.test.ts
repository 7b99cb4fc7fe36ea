import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Backoff } from '../../../src/async/backoff.js'
import { AcquireTimeoutError } from '../../../src/errors.js'
import { ShardConnections, type ShardConnectionsSettings } from '../../../src/shard/connections.js'
import { StubConnection, turn } from '../../support/stub-connection.js'
import { until } from '../../support/waiting.js'

const opened: ShardConnections[] = []
afterEach(() => {
  for (const unit of opened.splice(0)) unit.destroy(new Error('end of the test'))
})

function connections(settings: Partial<ShardConnectionsSettings> & { open?: ShardConnectionsSettings['open'] } = {}) {
  const stubs: StubConnection[] = []
  const state = { generation: 1, opens: 0, lastError: undefined as Error | undefined }
  const open = async () => {
    state.opens++
    const stub = new StubConnection((args) => (args[0] === 'PING' ? 'PONG' : 'OK'))
    stubs.push(stub)
    return { connection: stub.asConnection, generation: state.generation }
  }
  const unit = new ShardConnections({
    shard: 'cache-a',
    min: 0,
    max: 2,
    acquireTimeoutMs: 300,
    idleTimeoutMs: 30_000,
    maxWaiting: 5,
    backoff: new Backoff({ minMs: 5, maxMs: 20 }),
    generation: () => state.generation,
    lastError: () => state.lastError,
    open,
    ...settings,
  })
  opened.push(unit)
  return { unit, stubs, state }
}

const counts = (unit: ShardConnections) => {
  const { size, idle, borrowed, pending } = unit.picture()
  return { size, idle, borrowed, pending }
}

describe('exclusive connections', () => {
  it('opens on demand, never more than max, and hands the same one out again', async () => {
    const { unit, stubs } = connections()
    const first = await unit.acquire()
    const second = await unit.acquire()
    assert.equal(stubs.length, 2)
    const third = unit.acquire()
    await turn()
    assert.deepEqual(counts(unit), { size: 2, idle: 0, borrowed: 2, pending: 1 })
    await unit.giveBack(first, true)
    assert.equal((await third).connection, first.connection)
    await unit.giveBack(second, true)
    assert.equal(stubs.length, 2)
  })

  it('two hundred at once share two, first come first served, and everything is counted back', async () => {
    const { unit, stubs } = connections({ maxWaiting: 1_000, acquireTimeoutMs: 5_000 })
    const order: number[] = []
    let busy = 0
    await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const slot = await unit.acquire()
        assert.ok(++busy <= 2)
        order.push(i)
        await turn()
        busy--
        await unit.giveBack(slot, true)
      }),
    )
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    )
    assert.equal(stubs.length, 2)
    assert.deepEqual(counts(unit), { size: 2, idle: 2, borrowed: 0, pending: 0 })
  })

  it('given back twice it is in the pool once', async () => {
    const { unit } = connections({ max: 1 })
    const slot = await unit.acquire()
    await unit.giveBack(slot, true)
    await unit.giveBack(slot, true)
    const next = await unit.acquire()
    const other = unit.acquire()
    await assert.rejects(other, AcquireTimeoutError)
    await unit.giveBack(next, true)
  })

  it('not reusable: destroyed, and the next gets a new one', async () => {
    const { unit, stubs } = connections({ max: 1 })
    const slot = await unit.acquire()
    await unit.giveBack(slot, false)
    assert.equal(stubs[0]!.ended, true)
    assert.notEqual((await unit.acquire()).connection, slot.connection)
    assert.equal(unit.sockets, 1)
  })

  it('who gave up waiting holds nobody up, counts no more, and what comes for him is the next one’s', async () => {
    const { unit, stubs } = connections({ max: 1, maxWaiting: 2, acquireTimeoutMs: 2_000 })
    const slot = await unit.acquire()
    for (let i = 0; i < 5; i++) {
      await assert.rejects(unit.acquire({ timeoutMs: 10 }), (error: AcquireTimeoutError) => {
        assert.deepEqual([error.code, error.timeoutMs, error.picture.pending], ['ACQUIRE_TIMEOUT', 10, 1])
        return true
      })
      const gone = new AbortController()
      const aborted = assert.rejects(unit.acquire({ signal: gone.signal }), (reason) => reason === gone.signal.reason)
      gone.abort()
      await aborted
      assert.equal(counts(unit).pending, 0)
    }
    const idle = unit.idle()
    const next = unit.acquire()
    await turn()
    assert.equal(counts(unit).pending, 1)
    await unit.giveBack(slot, true)
    assert.equal((await next).connection, slot.connection)
    await unit.giveBack(await next, true)
    await idle
    assert.equal(stubs.length, 1)
    assert.deepEqual(counts(unit), { size: 1, idle: 1, borrowed: 0, pending: 0 })
  })

  it('what comes for one who gave up while nobody waits goes back', async () => {
    const { unit } = connections({ max: 1 })
    const slot = await unit.acquire()
    await assert.rejects(unit.acquire({ timeoutMs: 10 }), AcquireTimeoutError)
    await unit.giveBack(slot, true)
    await turn()
    unit.tick(performance.now() + 200)
    await until('it to be idle', () => counts(unit).idle === 1)
    assert.equal((await unit.acquire()).connection, slot.connection)
  })

  it('who takes over the place of one who gave up has his own time all the same', async () => {
    const { unit } = connections({ max: 1, acquireTimeoutMs: 200 })
    const slot = await unit.acquire()
    await assert.rejects(unit.acquire({ timeoutMs: 150 }), AcquireTimeoutError)
    const startedAt = performance.now()
    await assert.rejects(unit.acquire(), AcquireTimeoutError)
    const tookMs = performance.now() - startedAt
    assert.ok(tookMs >= 195 && tookMs < 300, `${tookMs} ms`)
    await unit.giveBack(slot, true)
  })

  it('one that died while it was idle is not handed out', async () => {
    const { unit, stubs } = connections()
    await unit.giveBack(await unit.acquire(), true)
    stubs[0]!.destroy(new Error('CLIENT KILL'))
    assert.equal(unit.sockets, 0)
    assert.deepEqual(counts(unit), { size: 0, idle: 0, borrowed: 0, pending: 0 }, 'what is dead is not idle')
    assert.equal((await unit.acquire()).connection, stubs[1]!.asConnection)
  })
})

describe('generations of exclusive connections', () => {
  it('an idle one of the generation before is destroyed when the generation changes, and never handed out', async () => {
    const { unit, stubs, state } = connections()
    await unit.giveBack(await unit.acquire(), true)
    unit.tick(performance.now() + 200) // generic-pool has it again
    await turn()
    assert.deepEqual(counts(unit), { size: 1, idle: 1, borrowed: 0, pending: 0 })
    state.generation++
    unit.retire(new Error('new master'))
    assert.equal(stubs[0]!.ended, true)
    assert.deepEqual(counts(unit), { size: 0, idle: 0, borrowed: 0, pending: 0 }, 'what is dead is not idle')
    const slot = await unit.acquire()
    assert.equal(slot.generation, 2)
    assert.equal(stubs.length, 2)
    assert.deepEqual(counts(unit), { size: 1, idle: 0, borrowed: 1, pending: 0 })
    stubs[1]!.destroy(new Error('CLIENT KILL'))
    assert.deepEqual(counts(unit), { size: 1, idle: 0, borrowed: 1, pending: 0 }, 'its borrower still has it')
    await unit.giveBack(slot, true)
    await turn()
    assert.deepEqual(counts(unit), { size: 0, idle: 0, borrowed: 0, pending: 0 })
  })

  it('one that is out is destroyed at once, and is not taken back', async () => {
    const { unit, stubs, state } = connections({ max: 1 })
    const slot = await unit.acquire()
    state.generation++
    unit.retire(new Error('new master'))
    assert.equal(stubs[0]!.ended, true)
    await unit.giveBack(slot, true)
    assert.equal((await unit.acquire()).generation, 2)
  })

  it('who waited since before the change gets a connection of the new generation', async () => {
    const { unit, state } = connections({ max: 1 })
    const slot = await unit.acquire()
    const waiting = unit.acquire()
    await turn()
    state.generation++
    unit.retire(new Error('new master'))
    await unit.giveBack(slot, true)
    assert.equal((await waiting).generation, 2)
  })

  it('one that was opened for a generation that has passed meanwhile is not handed out', async () => {
    const stubs: StubConnection[] = []
    const { unit, state } = connections({
      max: 1,
      open: async () => {
        const { generation } = state
        if (stubs.length === 0) state.generation++
        const stub = new StubConnection()
        stubs.push(stub)
        return { connection: stub.asConnection, generation }
      },
    })
    const slot = await unit.acquire()
    assert.equal(slot.generation, 2)
    assert.equal(stubs[0]!.ended, true)
  })
})

describe('acquire has an end', () => {
  it('all are out: it fails in time with the whole picture', async () => {
    const { unit } = connections()
    const first = await unit.acquire()
    const second = await unit.acquire()
    const startedAt = performance.now()
    const error = await unit.acquire().then(
      () => assert.fail('there is none'),
      (e: AcquireTimeoutError) => e,
    )
    const tookMs = performance.now() - startedAt
    assert.ok(error instanceof AcquireTimeoutError)
    assert.ok(tookMs > 250 && tookMs < 600, `${tookMs} ms`)
    assert.equal(error.shard, 'cache-a')
    const { oldestLeaseMs, ...picture } = error.picture
    assert.deepEqual(picture, { size: 2, max: 2, idle: 0, borrowed: 2, pending: 0 })
    assert.ok(oldestLeaseMs >= 250)
    await unit.giveBack(first, true)
    await unit.giveBack(second, true)
    assert.deepEqual(counts(unit), { size: 2, idle: 2, borrowed: 0, pending: 0 })
  })

  it('a waiter that has given up is not served: the connection goes to the next that still waits', async () => {
    const { unit } = connections({ max: 1 })
    const slot = await unit.acquire()
    const gone = unit.acquire()
    await assert.rejects(gone)
    const waiting = unit.acquire()
    await unit.giveBack(slot, true)
    assert.equal((await waiting).connection, slot.connection)
  })

  it('no connection can be opened: it fails in time with the reason, and tries are spaced', async () => {
    let opens = 0
    const { unit, state } = connections({
      open: async () => {
        opens++
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      },
    })
    await assert.rejects(unit.acquire(), (error: AcquireTimeoutError) => {
      assert.equal((error.cause as { code?: string }).code, 'ECONNREFUSED')
      return error.code === 'ACQUIRE_TIMEOUT'
    })
    assert.ok(opens >= 5 && opens < 100, `${opens} tries in 300 ms`)
    state.lastError = new Error('no sentinel could be asked')
    await assert.rejects(unit.acquire(), (error: AcquireTimeoutError) => error.cause === state.lastError)
  })

  it('when the server is back the next gets its connection', async () => {
    let down = true
    const stub = new StubConnection()
    const { unit, state } = connections({
      open: async () => {
        if (down) throw new Error('down')
        return { connection: stub.asConnection, generation: state.generation }
      },
    })
    const waiting = unit.acquire()
    setTimeout(() => {
      down = false
    }, 50)
    assert.equal((await waiting).connection, stub.asConnection)
  })

  it('more than maxWaiting are refused at once', async () => {
    const { unit } = connections({ max: 1, maxWaiting: 2 })
    await unit.acquire()
    const waiting = [unit.acquire(), unit.acquire()]
    const startedAt = performance.now()
    await assert.rejects(unit.acquire(), { code: 'SHARD_UNAVAILABLE', reason: 'too-many-waiting', outcome: 'not-sent' })
    assert.ok(performance.now() - startedAt < 100)
    await Promise.allSettled(waiting)
  })
})

describe('closing exclusive connections', () => {
  it('waits of all kinds end at once, and no socket is left', async () => {
    const never = new Promise<never>(() => {})
    const { unit, stubs } = connections({ max: 1 })
    const slot = await unit.acquire()
    const queued = unit.acquire()
    const opening = connections({
      open: (signal) =>
        Promise.race([never, new Promise<never>((_, no) => signal.addEventListener('abort', () => no(signal.reason)))]),
    })
    const pending = opening.unit.acquire()
    await turn()
    unit.destroy(new Error('closed'))
    opening.unit.destroy(new Error('closed'))
    await assert.rejects(queued, { code: 'POOL_CLOSED' })
    await assert.rejects(pending, { code: 'POOL_CLOSED' })
    await assert.rejects(unit.acquire(), { code: 'POOL_CLOSED' })
    assert.ok(stubs.every((stub) => stub.ended))
    assert.equal(unit.sockets, 0)
    await unit.giveBack(slot, true)
    unit.destroy(new Error('again'))
  })

  it('who waits counts as one that holds: between two holders it is not idle, and the picture is empty in the end', async () => {
    const { unit } = connections({ max: 1, min: 1 })
    const first = await unit.acquire()
    const second = unit.acquire()
    let idle = false
    const idling = unit.idle().then(() => {
      idle = true
    })
    await unit.giveBack(first, true)
    const slot = await second
    await turn()
    assert.equal(idle, false)
    await unit.giveBack(slot, true)
    await idling
    unit.destroy(new Error('closed'))
    await turn()
    assert.deepEqual(counts(unit), { size: 0, idle: 0, borrowed: 0, pending: 0 })
  })

  it('a wait that fails ends the wait for idleness too', async () => {
    const { unit } = connections({ open: () => Promise.reject(new Error('refused')), acquireTimeoutMs: 50 })
    const failing = assert.rejects(unit.acquire(), { code: 'ACQUIRE_TIMEOUT' })
    await unit.idle()
    await failing
  })

  it('a connection that comes when it is closed already is destroyed', async () => {
    const stub = new StubConnection()
    let give = () => {}
    const { unit } = connections({
      open: () =>
        new Promise((resolve) => {
          give = () => resolve({ connection: stub.asConnection, generation: 1 })
        }),
    })
    const waiting = unit.acquire()
    await turn()
    unit.destroy(new Error('closed'))
    give()
    await assert.rejects(waiting, { code: 'POOL_CLOSED' })
    assert.equal(stub.ended, true)
    assert.equal(unit.sockets, 0)
  })

  it('idle() waits for what is out, and only for that', async () => {
    const { unit } = connections()
    await unit.idle()
    const slot = await unit.acquire()
    let idle = false
    const waiting = unit.idle().then(() => {
      idle = true
    })
    await turn()
    assert.equal(idle, false)
    await unit.giveBack(slot, true)
    await waiting
  })
})

describe('sizes of the exclusive connections', () => {
  it('min are opened by start and refilled after they died; what is idle for too long goes, down to min', async () => {
    const { unit, stubs } = connections({ min: 1, max: 4, idleTimeoutMs: 200 })
    unit.start()
    await until('the first', () => unit.picture().idle === 1)
    const slots = await Promise.all([unit.acquire(), unit.acquire(), unit.acquire()])
    for (const slot of slots) await unit.giveBack(slot, true)
    assert.equal(unit.sockets, 3)
    const ticking = () => {
      unit.tick(performance.now())
      return unit.sockets
    }
    await until('the eviction', () => ticking() === 1, 3_000)
    for (const stub of stubs) stub.destroy(new Error('CLIENT KILL'))
    await until('the refill', () => ticking() === 1 && unit.picture().idle === 1, 3_000)
  })

  it('what came back a moment ago is lent again at once; from the next tick of the clock on generic-pool has it', async () => {
    const { unit, stubs } = connections({ max: 1 })
    const slot = await unit.acquire()
    await unit.giveBack(slot, true)
    assert.deepEqual(counts(unit), { size: 1, idle: 1, borrowed: 0, pending: 0 })
    assert.equal(unit.takeAtHand(), slot)
    assert.equal(unit.takeAtHand(), undefined)
    await unit.giveBack(slot, true)
    unit.tick(performance.now() + 1_000)
    await turn()
    assert.equal(unit.takeAtHand(), undefined)
    assert.deepEqual(counts(unit), { size: 1, idle: 1, borrowed: 0, pending: 0 })
    assert.equal((await unit.acquire()).connection, stubs[0]!.asConnection)
  })

  it('one at hand that died, or is of an older generation, is not lent, and makes room for a new one', async () => {
    for (const spoil of [
      (stub: StubConnection) => stub.destroy(new Error('CLIENT KILL')),
      (_stub: StubConnection, state: { generation: number }) => void state.generation++,
    ]) {
      const { unit, stubs, state } = connections({ max: 1 })
      await unit.giveBack(await unit.acquire(), true)
      spoil(stubs[0]!, state)
      assert.equal((await unit.acquire()).connection, stubs[1]!.asConnection)
      assert.equal(stubs[0]!.ended, true)
      assert.deepEqual(counts(unit), { size: 1, idle: 0, borrowed: 1, pending: 0 })
    }
  })

  it('after a silence a connection must answer before it is handed out; one dead casts out the others', async () => {
    const { unit, stubs } = connections({ max: 3, acquireTimeoutMs: 2_000 })
    const slots = await Promise.all([unit.acquire(), unit.acquire(), unit.acquire()])
    for (const slot of slots) await unit.giveBack(slot, true)
    for (const slot of slots) slot.usedAt -= 60_000
    for (const stub of stubs) stub.reply = () => undefined
    const startedAt = performance.now()
    const slot = await unit.acquire()
    const tookMs = performance.now() - startedAt
    assert.equal(slot.connection, stubs[3]!.asConnection)
    assert.ok(tookMs < 700, `one such wait, not three: ${tookMs} ms`)
    assert.ok(stubs.slice(0, 3).every((stub) => stub.ended))
  })

  it('after a short pause it is handed out without a question', async () => {
    const { unit, stubs } = connections()
    await unit.giveBack(await unit.acquire(), true)
    await unit.acquire()
    assert.deepEqual(stubs[0]!.sent, [])
  })
})
