import assert from 'node:assert/strict'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it } from 'node:test'
import { publish } from '../../src/channels.js'
import { CHANNELS, type ChannelMessage } from '../../src/index.js'

describe('diagnostics channels', () => {
  it('there is one per event, named after it', () => {
    for (const [event, name] of Object.entries(CHANNELS)) assert.equal(name, `sharded-sentinel-pool:${event}`)
  })

  it('a subscriber hears the pool, its name and what listeners hear', () => {
    const heard: unknown[] = []
    const listener = (message: unknown) => heard.push(message)
    const pool = {}
    subscribe(CHANNELS.failover, listener)
    publish('failover', pool, 'mine', { shard: 'a' })
    unsubscribe(CHANNELS.failover, listener)
    publish('failover', pool, 'mine', { shard: 'b' })
    assert.deepEqual(heard, [{ pool, name: 'mine', event: { shard: 'a' } }])
    assert.equal((heard[0] as ChannelMessage).pool, pool)
  })

  it('nothing is made for a channel that nobody hears', () => {
    assert.equal(channel(CHANNELS.end).hasSubscribers, false)
    const poison = new Proxy({}, { get: () => assert.fail('looked at'), ownKeys: () => assert.fail('looked at') })
    publish('end', poison, 'x', poison)
  })
})
