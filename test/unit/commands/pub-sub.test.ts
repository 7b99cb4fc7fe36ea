import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SubscriptionGap } from '../../../src/commands/pub-sub.js'
import type { SubscriberConnection } from '../../../src/commands/subscriber-link.js'
import { stubPool } from './stub-client.js'

type Listener = (message: unknown, channel: unknown) => void

/** A subscriber connection that keeps what is subscribed on it and can be told to deliver or to break. */
class StubSubscriber implements SubscriberConnection {
  readonly log: string[] = []
  readonly listeners = new Map<string, Set<Listener>>()
  ended = false
  #onEnd: ((cause: Error) => void)[] = []

  readonly client = Object.fromEntries(
    ['subscribe', 'pSubscribe', 'sSubscribe'].flatMap((kind) => {
      const undo =
        kind.startsWith('s') && kind !== 'subscribe'
          ? 'sUnsubscribe'
          : kind === 'subscribe'
            ? 'unsubscribe'
            : 'pUnsubscribe'
      return [
        [
          kind,
          async (channel: string, listener: Listener) => {
            if (this.ended) throw new Error('ended')
            this.log.push(`${kind} ${channel}`)
            this.listeners.set(channel, (this.listeners.get(channel) ?? new Set()).add(listener))
          },
        ],
        [
          undo,
          async (channel: string, listener: Listener) => {
            this.log.push(`${undo} ${channel}`)
            this.listeners.get(channel)?.delete(listener)
          },
        ],
      ]
    }),
  )

  onEnd(listener: (cause: Error) => void): void {
    this.#onEnd.push(listener)
  }

  destroy(cause = new Error('destroyed')): void {
    if (this.ended) return
    this.ended = true
    for (const listener of this.#onEnd) listener(cause)
  }

  deliver(channel: string, message: string): void {
    for (const listener of this.listeners.get(channel) ?? []) listener(message, channel)
  }
}

function subscribing() {
  const opened: { index: number; connection: StubSubscriber }[] = []
  const gaps: SubscriptionGap[] = []
  const errors: unknown[] = []
  let changed!: (index: number) => void
  const state = { refuse: false }
  const pool = stubPool({
    openSubscriber: async (index) => {
      if (state.refuse) throw new Error('no master')
      const connection = new StubSubscriber()
      opened.push({ index, connection })
      return connection
    },
    onMasterChanged: (listener) => {
      changed = listener
    },
    onSubscriptionGap: (gap) => gaps.push(gap),
    onListenerError: (error) => errors.push(error),
  })
  const live = (index: number) =>
    opened.filter((one) => one.index === index && !one.connection.ended).map((one) => one.connection)
  return { ...pool, opened, gaps, errors, state, live, changed: (index: number) => changed(index) }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 60))

describe('pub/sub', () => {
  test('a channel lives on the shard its messages are published to; one connection per shard', async () => {
    const { client, shards, opened, live } = subscribing()
    const heard: unknown[] = []
    await client.subscribe(['c1', 'd1', 'e2'], (message, channel) => heard.push([channel, message]))
    await client.sSubscribe('s1', () => {})
    await client.publish('c1', 'x')
    assert.deepEqual(
      opened.map(({ index }) => index),
      [1, 2],
    )
    assert.deepEqual(live(1)[0]!.log, ['subscribe c1', 'subscribe d1', 'sSubscribe s1'])
    assert.deepEqual(
      shards.map((shard) => shard.texts),
      [[], ['PUBLISH c1 x'], []],
    )
    live(1)[0]!.deliver('c1', 'hello')
    assert.deepEqual(heard, [['c1', 'hello']])
    client.end()
  })

  test("a pattern lives on every shard, and so do the channels of each server's own notifications", async () => {
    const { client, live } = subscribing()
    await client.pSubscribe('p.*', () => {})
    await client.subscribe('__keyevent@0__:expired', () => {})
    for (const index of [0, 1, 2])
      assert.deepEqual(live(index)[0]!.log, ['pSubscribe p.*', 'subscribe __keyevent@0__:expired'])
    client.end()
  })

  test("after a change of master the shard's subscriptions come back once each, and the gap is told", async () => {
    const { client, live, gaps, opened, changed } = subscribing()
    let heard = 0
    await client.subscribe('c1', () => heard++)
    await client.subscribe('c2', () => {})
    const old = live(1)[0]!
    changed(1)
    await settle()
    assert.equal(old.ended, true, 'nothing waits for the old server')
    const [now, ...more] = live(1)
    assert.deepEqual([now!.log, more.length], [['subscribe c1'], 0])
    now!.deliver('c1', 'x')
    assert.equal(heard, 1)
    assert.deepEqual(
      gaps.map(({ shard, channels }) => [shard, channels]),
      [['shard-1', ['c1']]],
    )
    assert.equal(opened.filter(({ index }) => index === 2).length, 1, 'the other shard is not touched')
    client.end()
  })

  test('a lost connection is opened again until it is there; unsubscribing in between holds', async () => {
    const { client, live, gaps, state } = subscribing()
    const gone = () => {}
    await client.subscribe('c1', gone)
    await client.subscribe('d1', () => {})
    state.refuse = true
    live(1)[0]!.destroy()
    await settle()
    await client.unsubscribe('c1', gone)
    state.refuse = false
    await settle()
    await settle()
    assert.deepEqual(live(1)[0]!.log, ['subscribe d1'])
    assert.deepEqual(
      gaps.map(({ channels }) => channels),
      [['d1']],
    )
    client.end()
  })

  test('the last one out closes the connection; none is opened again', async () => {
    const { client, opened, gaps } = subscribing()
    const listener = () => {}
    await client.subscribe(['c1', 'd1'], listener)
    await client.unsubscribe('c1')
    assert.equal(opened[0]!.connection.ended, false)
    assert.equal(client.isPubSubActive, true)
    await client.unsubscribe()
    assert.equal(opened[0]!.connection.ended, true)
    assert.equal(client.isPubSubActive, false)
    await settle()
    assert.deepEqual([opened.length, gaps.length], [1, 0])
    await client.subscribe('c1', listener)
    assert.equal(opened.length, 2)
    client.end()
  })

  test('the same listener twice is one subscription; two listeners are two, and leave one by one', async () => {
    const { client, live } = subscribing()
    const heard: string[] = []
    const a = () => heard.push('a')
    const b = () => heard.push('b')
    await client.subscribe('c1', a)
    await client.subscribe('c1', a)
    await client.subscribe('c1', b)
    live(1)[0]!.deliver('c1', 'x')
    await client.unsubscribe('c1', a)
    live(1)[0]!.deliver('c1', 'x')
    assert.deepEqual(heard, ['a', 'b', 'b'])
    client.end()
  })

  test('when a shard cannot be subscribed to, the call rejects and none of it stays', async () => {
    const { client, state, live } = subscribing()
    await client.subscribe('c1', () => {})
    state.refuse = true
    await assert.rejects(
      client.pSubscribe('p.*', () => {}),
      /no master/,
    )
    state.refuse = false
    assert.deepEqual(live(1)[0]!.log, ['subscribe c1', 'pSubscribe p.*', 'pUnsubscribe p.*'])
    assert.deepEqual([live(0).length, live(2).length], [0, 0])
    client.end()
  })

  test('a listener that unsubscribes in its call hears no more, and its connection ends only after it', async () => {
    const { client, live } = subscribing()
    const heard: unknown[] = []
    await client.subscribe('c1', (message) => {
      heard.push(message)
      void client.unsubscribe('c1')
      heard.push(live(1).length)
    })
    const [connection] = live(1)
    // node-redis's decoder hands a message over again when its connection is destroyed amid it; more may be behind it.
    connection!.deliver('c1', 'x')
    connection!.deliver('c1', 'y')
    assert.deepEqual(heard, ['x', 1])
    await settle()
    assert.equal(live(1).length, 0)
    client.end()
  })

  test('a listener that throws hurts nobody else', async () => {
    const { client, live, errors } = subscribing()
    const heard: string[] = []
    const failure = new Error('bug')
    await client.subscribe('c1', () => {
      throw failure
    })
    await client.subscribe('c1', () => heard.push('x'))
    live(1)[0]!.deliver('c1', 'x')
    assert.deepEqual([errors, heard], [[failure], ['x']])
    client.end()
  })

  test('a master that changes while its subscriber is being opened is not subscribed to', async () => {
    const { client, live, opened, changed } = subscribing()
    const call = client.subscribe('c1', () => {})
    changed(1)
    await call
    assert.equal(opened.length, 2)
    assert.equal(live(1).length, 1)
    assert.deepEqual(live(1)[0]!.log, ['subscribe c1'])
    client.end()
  })

  test('the end of the pool ends them all, also one that is trying to come back', async () => {
    const { client, live, opened, state } = subscribing()
    await client.pSubscribe('p.*', () => {})
    state.refuse = true
    live(0)[0]!.destroy()
    client.end()
    state.refuse = false
    await settle()
    assert.equal(opened.length, 3)
    assert.ok(opened.every(({ connection }) => connection.ended))
  })

  test('the names of channels are text or its bytes; anything else is a TypeError in the words of node-redis', async () => {
    const { client, live, opened } = subscribing()
    const [heard, bad] = [[] as unknown[], 5 as unknown as string]
    const complaint = {
      name: 'TypeError',
      message: '"arguments[1]" must be of type "string | Buffer", got number instead.',
    }
    await assert.rejects(
      client.subscribe(bad, () => {}),
      complaint,
    )
    await assert.rejects(client.unsubscribe(bad), complaint)
    await assert.rejects(
      client.pSubscribe(Buffer.from([0xff]) as unknown as string, () => {}),
      TypeError,
    )
    assert.equal(opened.length, 0)
    await client.subscribe(Buffer.from('c1') as unknown as string, (message) => heard.push(message))
    live(1)[0]!.deliver('c1', 'x')
    await client.unsubscribe('c1')
    assert.deepEqual([heard, client.isPubSubActive], [['x'], false])
    client.end()
  })

  test('a listener is asked for', async () => {
    const { client } = subscribing()
    await assert.rejects((client as never as { subscribe(c: string): Promise<void> }).subscribe('c1'), TypeError)
  })
})
