import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type HealthSource, healthOf, type ShardState, type ShardStats } from '../../src/index.js'

function pool(states: readonly ShardState[], isOpen = true): HealthSource {
  const shards = states.map((state, i) => ({
    name: `s${i}`,
    state,
    waiting: i,
    address: state === 'connecting' ? undefined : { host: 'h', port: i },
  })) as unknown as ShardStats[]
  const sentinels = [true, false].map((subscribed, i) => ({ address: { host: 'h', port: i }, subscribed, seed: true }))
  return { isOpen, stats: () => ({ shards, sentinels }) }
}

describe('healthOf', () => {
  it('is ready while every shard takes writes, or is about to again', () => {
    assert.deepEqual(healthOf(pool(['ready', 'holding'])), {
      live: true,
      ready: true,
      shards: [
        { name: 's0', ready: true, state: 'ready', address: { host: 'h', port: 0 }, waiting: 0 },
        { name: 's1', ready: true, state: 'holding', address: { host: 'h', port: 1 }, waiting: 1 },
      ],
      sentinels: { reachable: 1, known: 2 },
    })
  })

  it('a shard without a master makes it not ready, and leaves it live', () => {
    for (const state of ['rebuilding', 'connecting'] as const) {
      const health = healthOf(pool(['ready', state]))
      assert.deepEqual([health.live, health.ready], [true, false])
      assert.deepEqual(
        health.shards.map((shard) => shard.ready),
        [true, false],
      )
    }
  })

  it('with require any, one shard is enough, and none is not', () => {
    assert.equal(healthOf(pool(['ready', 'rebuilding']), { require: 'any' }).ready, true)
    assert.equal(healthOf(pool(['rebuilding', 'rebuilding']), { require: 'any' }).ready, false)
  })

  it('a pool that is closed, or has never been opened, is neither', () => {
    for (const closed of [pool(['ready'], false), pool([], false)]) {
      const health = healthOf(closed)
      assert.deepEqual([health.live, health.ready], [false, false])
    }
  })
})
