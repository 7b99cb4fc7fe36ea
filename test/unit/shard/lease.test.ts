import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LeaseReleasedError } from '../../../src/errors.js'
import { ErrorReply } from '../../../src/redis-client.js'
import { Lease } from '../../../src/shard/lease.js'
import { StubConnection, turn } from '../../support/stub-connection.js'

/** Methods as node-redis's client has them, over the stub's `send`. */
function client(stub: StubConnection): void {
  const method =
    (name: string) =>
    async (...args: string[]) =>
      stub.send([name, ...args])
  Object.assign(stub.client, {
    get: method('GET'),
    set: method('SET'),
    select: method('SELECT'),
    blPop: method('BLPOP'),
    clientSetName: method('CLIENT'),
    subscribe: async (...args: string[]) => {
      stub.client.isPubSubActive = true
      return stub.send(['SUBSCRIBE', ...args])
    },
    unwatch: async () => {
      stub.client.isWatching = false
      return stub.send(['UNWATCH'])
    },
    unsubscribe: async () => {
      stub.client.isPubSubActive = false
    },
    watch: async (...args: string[]) => {
      stub.client.isWatching = true
      return stub.send(['WATCH', ...args])
    },
    sendCommand: (args: string[]) => stub.send(args),
    json: { set: method('JSON.SET') },
    on() {
      return stub.client
    },
    off() {
      return stub.client
    },
    multi() {
      const chain = { get: () => chain, exec: async () => stub.send(['EXEC']) }
      return chain
    },
    withTypeMapping: () => ({ get: method('GET') }),
    asap: () => ({ get: method('GET'), select: method('SELECT') }),
    somethingNew: () => ({ get: method('GET') }),
    legacy: () => ({ get: method('GET') }),
    createPool: () => ({ get: method('GET') }),
    duplicate: () => ({ destroy: () => 'destroyed' }),
    *values() {
      yield 1
    },
  })
}

interface Methods {
  get(key: string): Promise<unknown>
  set(key: string, value: string): Promise<unknown>
  select(n: string): Promise<unknown>
  blPop(key: string, s: string): Promise<unknown>
  clientSetName(name: string): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  unsubscribe(): Promise<unknown>
  watch(key: string): Promise<unknown>
  sendCommand(args: string[]): Promise<unknown>
  json: { set(key: string, path: string, value: string): Promise<unknown> }
  on(event: string, listener: () => void): Methods
  multi(): { get(key: string): { exec(): Promise<unknown> }; exec(): Promise<unknown> }
  withTypeMapping(mapping: object): { get(key: string): Promise<unknown> }
  asap(): { get(key: string): Promise<unknown>; select(n: string): Promise<unknown> }
  somethingNew(): { get(key: string): Promise<unknown> }
  legacy(): unknown
  createPool(): unknown
  duplicate(): { destroy(): unknown }
}

function lease({ reply = () => 'OK' as unknown, commandTimeoutMs = 1_000 } = {}) {
  const stub = new StubConnection(reply)
  client(stub)
  const returned: boolean[] = []
  const moved: ErrorReply[] = []
  const unit = new Lease({
    shard: 'cache-a',
    connection: stub.asConnection,
    commandTimeoutMs,
    stack: undefined,
    giveBack: async (reusable) => {
      returned.push(reusable)
    },
    onMoved: (error) => moved.push(error),
  })
  return { unit, stub, returned, moved, client: unit.client as unknown as Methods }
}

const ended = (why: string) => (error: unknown) =>
  error instanceof LeaseReleasedError && error.why === why && error.outcome === 'not-sent' && error.shard === 'cache-a'

describe('lease: it ends exactly once', () => {
  it('released: the connection goes back, and every later use is refused', async () => {
    const { unit, client, stub, returned } = lease()
    assert.equal(await client.get('k'), 'OK')
    await unit.release()
    assert.deepEqual(returned, [true])
    assert.equal(unit.state, 'released')
    await assert.rejects(client.get('k'), ended('released'))
    await assert.rejects(client.json.set('k', '$', '1'), ended('released'))
    await assert.rejects(client.sendCommand(['GET', 'k']), ended('released'))
    await assert.rejects(unit.send(['GET', 'k']), ended('released'))
    assert.throws(() => client.multi(), ended('released'))
    assert.throws(() => client.withTypeMapping({}), ended('released'))
    assert.deepEqual(stub.sent, ['GET'])
  })

  it('a chain that was begun before the end cannot be executed after it', async () => {
    const { unit, client, stub } = lease()
    const chain = client.multi().get('k')
    const view = client.withTypeMapping({})
    await unit.release()
    await assert.rejects(chain.exec(), ended('released'))
    await assert.rejects(view.get('k'), ended('released'))
    assert.deepEqual(stub.sent, [])
  })

  it('whatever the client hands out ends with the lease, but for a duplicate, which is a connection of its own', async () => {
    const { unit, client, stub } = lease()
    const views = [client.asap(), client.somethingNew()]
    const duplicate = client.duplicate()
    assert.equal(await views[0]!.get('k'), 'OK')
    await unit.release()
    for (const view of views) await assert.rejects(view.get('k'), ended('released'))
    assert.deepEqual(stub.sent, ['GET'])
    assert.equal(duplicate.destroy(), 'destroyed')
  })

  it('what the guard cannot see through is refused: legacy mode, and a pool made of one lease', () => {
    const { client } = lease()
    assert.throws(() => client.legacy(), { code: 'UNSUPPORTED_COMMAND', command: 'legacy' })
    assert.throws(() => client.createPool(), { code: 'UNSUPPORTED_COMMAND', command: 'createPool' })
  })

  it('a second release is refused and gives nothing back twice', async () => {
    const { unit, returned } = lease()
    await unit.release()
    await assert.rejects(unit.release(), ended('released'))
    assert.throws(() => unit.discard(), ended('released'))
    assert.deepEqual(returned, [true])
  })

  it('disposed of after a release it does nothing', async () => {
    const { unit, returned } = lease()
    await unit.release()
    await unit[Symbol.asyncDispose]()
    assert.deepEqual(returned, [true])
  })

  it('discarded: the connection is not used again', async () => {
    const { unit, client, returned } = lease()
    unit.discard()
    assert.deepEqual(returned, [false])
    await assert.rejects(client.get('k'), ended('discarded'))
    assert.throws(() => unit.discard(), ended('discarded'))
  })

  for (const why of ['failover', 'closed'] as const) {
    it(`poisoned (${why}): what is in flight ends as unknown, the next use as not sent, and release is harmless`, async () => {
      const { unit, client, stub, returned } = lease({ reply: () => undefined })
      const call = client.set('k', 'v')
      unit.poison(why, new Error('the shard has a new master'))
      await assert.rejects(call, (error: LeaseReleasedError) => error.why === why && error.outcome === 'unknown')
      await assert.rejects(client.get('k'), ended(why))
      assert.equal(stub.ended, true)
      await unit.release()
      await unit.release()
      assert.ok(returned.every((reusable) => !reusable))
    })
  }
})

describe('lease: what leaves a mark is not handed on', () => {
  const marks: [string, (client: Methods) => Promise<unknown>][] = [
    ['SELECT', (c) => c.select('2')],
    ['SELECT by the view that jumps the queue', (c) => c.asap().select('2')],
    ['CLIENT SETNAME', (c) => c.clientSetName('me')],
    ['a subscription', (c) => c.subscribe('news')],
    ['a subscription that was taken back', (c) => c.subscribe('news').then(() => c.unsubscribe())],
    ['a raw SELECT', (c) => c.sendCommand(['select', '2'])],
    ['a raw MULTI', (c) => c.sendCommand(['MULTI'])],
    ['a raw WATCH', (c) => c.sendCommand(['WATCH', 'k'])],
    ['a raw CLIENT REPLY', (c) => c.sendCommand(['CLIENT', 'REPLY', 'OFF'])],
    ['a raw CLIENT NO-TOUCH', (c) => c.sendCommand(['CLIENT', 'NO-TOUCH', 'ON'])],
    ['a raw CLIENT NO-EVICT', (c) => c.sendCommand(['client', 'no-evict', 'on'])],
    ['a raw AUTH', (c) => c.sendCommand(['AUTH', 'u', 'p'])],
  ]
  for (const [what, mark] of marks) {
    it(`${what}: the connection is destroyed at release`, async () => {
      const { unit, client, returned } = lease()
      await mark(client)
      await unit.release()
      assert.deepEqual(returned, [false])
    })
  }

  it('ordinary commands and transactions leave none', async () => {
    const { unit, client, returned } = lease()
    await client.set('k', 'v')
    await client.multi().get('k').exec()
    client.on('error', () => {})
    await unit.release()
    assert.deepEqual(returned, [true])
  })

  it('WATCH is undone with UNWATCH', async () => {
    const { unit, client, stub, returned } = lease()
    await client.watch('k')
    await unit.release()
    assert.deepEqual(stub.sent, ['WATCH', 'UNWATCH'])
    assert.deepEqual(returned, [true])
  })

  it('a server that does not answer UNWATCH costs a second and the connection', async () => {
    const { unit, client, stub, returned } = lease({ reply: () => undefined })
    const watching = client.watch('k')
    stub.calls[0]!.answer('OK')
    await watching
    const startedAt = performance.now()
    await unit.release()
    assert.ok(performance.now() - startedAt < 1_500)
    assert.deepEqual(returned, [false])
  })

  it('released with a call in flight, its reply must not reach the next: it is destroyed', async () => {
    const { unit, client, stub, returned } = lease({ reply: () => undefined })
    const call = client.get('k').catch(() => {})
    await unit.release()
    assert.deepEqual(returned, [false])
    stub.destroy()
    await call
  })
})

describe('lease: a call ends by its deadline', () => {
  it('one that is not answered takes its connection along', async () => {
    const { unit, client, stub } = lease({ reply: () => undefined })
    const call = client.get('k')
    unit.tick(performance.now() + 900)
    assert.equal(stub.ended, false)
    unit.tick(performance.now() + 1_100)
    await assert.rejects(call, { code: 'COMMAND_TIMEOUT', outcome: 'unknown', shard: 'cache-a', command: 'GET' })
    assert.equal(stub.ended, true)
  })

  it('one that waits by its nature has none, nor has what is queued behind it', async () => {
    for (const wait of [(c: Methods) => c.blPop('k', '0'), (c: Methods) => c.sendCommand(['XREAD', 'BLOCK', '0'])]) {
      const { unit, client, stub } = lease({ reply: () => undefined })
      const calls = [wait(client), client.get('k')]
      for (const call of calls) call.catch(() => {})
      unit.tick(performance.now() + 60_000)
      assert.equal(stub.ended, false)
      unit.cut(new Error('the server answers nobody'))
      for (const call of calls) await assert.rejects(call, { code: 'CONNECTION_LOST', outcome: 'unknown' })
    }
  })

  it('without commandTimeoutMs there is none', async () => {
    const { unit, client, stub } = lease({ reply: () => undefined, commandTimeoutMs: 0 })
    client.get('k').catch(() => {})
    unit.tick(performance.now() + 60_000)
    assert.equal(stub.ended, false)
    stub.destroy()
  })

  it('a bound of its own goes before the lease’s, and an abort ends a call in flight', async () => {
    const first = lease({ reply: () => undefined })
    await assert.rejects(first.unit.send(['BLPOP', 'k', '1'], { timeoutMs: 20 }), { code: 'COMMAND_TIMEOUT' })
    assert.equal(first.stub.ended, true)
    const second = lease({ reply: () => undefined })
    const abort = new AbortController()
    const call = second.unit.send(['BLPOP', 'k', '0'], { timeoutMs: 0, abortSignal: abort.signal })
    await turn()
    abort.abort()
    await assert.rejects(call, { name: 'Error', message: 'The command was aborted' })
    assert.equal(second.stub.ended, true)
  })
})

describe('lease: what the server says', () => {
  it('an error of the command is the caller’s', async () => {
    const { client, moved } = lease({ reply: () => new ErrorReply('WRONGTYPE Operation') })
    await assert.rejects(client.get('k'), ErrorReply)
    assert.equal(moved.length, 0)
  })

  it('READONLY is told to the shard as well', async () => {
    const { client, moved } = lease({ reply: () => new ErrorReply('READONLY You can not') })
    await assert.rejects(client.set('k', 'v'), ErrorReply)
    assert.equal(moved.length, 1)
  })

  it('a lost connection is typed: unknown for what was sent, not sent for the next', async () => {
    const { client, stub } = lease({ reply: () => undefined })
    const call = client.set('k', 'v')
    stub.destroy(new Error('reset'))
    await assert.rejects(call, { code: 'CONNECTION_LOST', outcome: 'unknown' })
    await assert.rejects(client.get('k'), { code: 'CONNECTION_LOST', outcome: 'not-sent' })
  })

  it('a leak is reported once, and not after its end', async () => {
    const { unit } = lease()
    assert.deepEqual([unit.reportLeakOnce(), unit.reportLeakOnce()], [true, false])
    const other = lease()
    await other.unit.release()
    assert.equal(other.unit.reportLeakOnce(), false)
  })
})
