import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import { type FakeConnection, type FakeReply, FakeRespServer } from '../support/fake-resp-server.js'
import type { TestPool } from '../support/pool-on-topology.js'

/** Bytes as they go on the wire; latin1, so that any byte can be among them. */
const anyBytes = fc.string({ unit: 'binary', maxLength: 40 })
const replyTree = fc.letrec<{ reply: string }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    anyBytes.map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
    fc.integer().map((n) => `:${n}\r\n`),
    fc.constantFrom(
      '$-1\r\n',
      '*-1\r\n',
      '_\r\n',
      '#t\r\n',
      ',1.5\r\n',
      ',nan\r\n',
      '(12345678901234567890\r\n',
      '+\r\n',
      '-\r\n',
      '-ERR\r\n',
    ),
    fc.array(tie('reply'), { maxLength: 6 }).map((items) => `*${items.length}\r\n${items.join('')}`),
    fc
      .array(tie('reply'), { maxLength: 3 })
      .map((items) => `%${items.length}\r\n${items.map((i) => `+k\r\n${i}`).join('')}`),
  ),
})).reply
const huge = fc.constantFrom(
  `*2\r\n$9\r\n127.0.0.1\r\n$6\r\n999999\r\n`,
  `$${2 ** 20}\r\n${'x'.repeat(2 ** 20)}\r\n`,
  `*1000\r\n${':1\r\n'.repeat(1000)}`,
  `${'*1\r\n'.repeat(500)}:1\r\n`,
)
/** Whole but senseless, cut in the middle, or no RESP at all. */
const nonsense = fc.oneof(
  replyTree,
  huge,
  fc.tuple(replyTree, fc.nat(30)).map(([text, cut]) => text.slice(0, Math.max(0, text.length - cut))),
  anyBytes,
)
const binaryName = fc.uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('latin1'))

describe('servers that talk nonsense', () => {
  /** By command: what to answer in place of the truth. */
  const lies = new Map<string, string>()
  const subscribers = new Set<FakeConnection>()
  const rejections: unknown[] = []
  const onRejection = (reason: unknown) => rejections.push(reason)
  let node: FakeRespServer
  let sentinel: FakeRespServer
  let pool: TestPool

  const lying = (truth: (command: string[], connection: FakeConnection) => FakeReply | undefined) => {
    return (command: string[], connection: FakeConnection) => {
      const name = command[0] === 'SENTINEL' ? `SENTINEL ${command[1]!.toUpperCase()}` : command[0]!
      const lie = lies.get(name)
      if (lie === undefined) return truth(command, connection)
      connection.raw(lie)
      return undefined
    }
  }

  function makePool(): TestPool {
    return new ShardedSentinelPool({
      masters: ['m'],
      sentinels: [sentinel.address],
      commandTimeoutMs: 100,
      sentinelTimeoutMs: 30,
      connectTimeoutMs: 50,
      connectDeadlineMs: 150,
      heartbeatMs: 100,
      placementGuard: 'off',
      pool: { min: 0 },
    } as PoolOptions) as TestPool
  }

  /** Whatever comes of a call, it comes in time. */
  async function ends(what: string, boundMs: number, call: () => Promise<unknown>): Promise<void> {
    const since = performance.now()
    await call().catch(() => {})
    const tookMs = performance.now() - since
    assert.ok(tookMs < boundMs + 1_000, `${what} took ${Math.round(tookMs)} ms`)
  }

  before(async () => {
    process.on('unhandledRejection', onRejection)
    node = await new FakeRespServer(
      lying(([verb]) => {
        if (verb === 'ROLE') return ['master', 0, []]
        if (verb === 'PING') return 'PONG'
        return 'value'
      }),
    ).listen()
    const where = () => ['127.0.0.1', String(node.address.port)]
    sentinel = await new FakeRespServer(
      lying((command, connection) => {
        const [verb, sub] = command
        if (verb === 'SUBSCRIBE') {
          subscribers.add(connection)
          for (const [i, channel] of command.slice(1).entries()) connection.push(['subscribe', channel, i + 1])
          return undefined
        }
        if (verb === 'PING') return 'PONG'
        switch (sub?.toUpperCase()) {
          case 'MYID':
            return 'the-only-sentinel'
          case 'GET-MASTER-ADDR-BY-NAME':
            return where()
          case 'MASTER':
            return ['ip', where()[0]!, 'port', where()[1]!, 'flags', 'master', 'config-epoch', '1']
          default:
            return []
        }
      }),
    ).listen()
  })
  after(async () => {
    await Promise.all([node.close(), sentinel.close()])
    process.off('unhandledRejection', onRejection)
    assert.deepEqual(rejections, [])
  })

  const questions = [
    'SENTINEL MYID',
    'SENTINEL SENTINELS',
    'SENTINEL GET-MASTER-ADDR-BY-NAME',
    'SENTINEL MASTER',
    'SUBSCRIBE',
  ]
  it('a sentinel with nonsense for an answer: connect() and close() end in their time', {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...questions), nonsense, async (question, lie) => {
        lies.set(question, lie)
        const fresh = makePool()
        await ends('connect()', 150, () => fresh.connect())
        lies.clear()
        await ends('close()', 100, () => fresh.close())
        assert.equal(node.connections.size <= 1, true)
      }),
      { numRuns: 60 },
    )
  })

  it('a node with nonsense for an answer: the call ends in its time, and the next is answered by its own reply', {
    timeout: 60_000,
  }, async () => {
    pool = makePool()
    await pool.connect()
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'ROLE', 'PING'), nonsense, async (question, lie) => {
        lies.set(question, lie)
        if (question !== 'GET') for (const connection of node.connections) connection.destroy()
        await ends('get()', 100, () => pool.get('key'))
        lies.clear()
        // Bytes too many are taken for the reply to the next call, by any client: such a connection must be cut to be well.
        for (const connection of node.connections) connection.destroy()
        let reply: unknown
        for (let i = 0; i < 50 && reply !== 'value'; i++) {
          reply = await pool.get('key').catch(() => undefined)
          if (reply !== 'value') await new Promise((resolve) => setTimeout(resolve, 20))
        }
        assert.equal(reply, 'value')
      }),
      { numRuns: 25 },
    )
    await pool.close()
  })

  it('messages of any kind on any channel move nothing and break nothing', { timeout: 60_000 }, async () => {
    const quiet = makePool()
    await quiet.connect()
    const channel = fc.constantFrom(
      '+switch-master',
      '+selected-slave',
      '+try-failover',
      '-failover-abort-no-good-slave',
      '+sentinel',
      '+reset-master',
      '+sdown',
    )
    const words = fc.array(
      fc.oneof(
        fc.constantFrom('m', 'master', 'slave', 'sentinel', '@', '127.0.0.1', '1', '-1', '99999', '::1'),
        binaryName,
      ),
      { maxLength: 9 },
    )
    await fc.assert(
      fc.asyncProperty(channel, words, async (on, text) => {
        for (const connection of subscribers) connection.push(['message', on, text.join(' ')])
        await ends('get()', 100, () => quiet.get('key'))
      }),
      { numRuns: 300 },
    )
    assert.equal(quiet.stats().shards[0]!.failovers, 0)
    assert.deepEqual(quiet.stats().shards[0]!.address, node.address)
    await quiet.close()
  })
})
