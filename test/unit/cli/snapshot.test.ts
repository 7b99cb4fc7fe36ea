import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { snapshotOf } from '../../../src/cli/dashboard/snapshot.js'
import type { PoolStats, RingPicture, TopologyPicture } from '../../../src/index.js'
import { healthy } from '../inspect/pictures.js'

const address = (port: number) => ({ host: '10.0.0.1', port })
const stats = (calls: number, more: object = {}) =>
  ({
    shards: [
      {
        name: 'cache-a',
        state: 'ready',
        address: address(7001),
        calls,
        failovers: 0,
        waiting: 0,
        inFlight: 0,
        configEpoch: undefined,
        ...more,
      },
    ],
    sentinels: [0, 1, 2].map((i) => ({ address: address(26379 + i), subscribed: i !== 1, seed: true })),
  }) as unknown as PoolStats
const ring = { shards: [{ share: 0.5 }] } as unknown as RingPicture
const picture = () => healthy() as unknown as TopologyPicture

describe('a snapshot for the page', () => {
  it('tells calls per second from two looks, and none from the first', () => {
    assert.equal(snapshotOf(0, stats(500), undefined, 0, ring, undefined).shards[0]!.callsPerSecond, 0)
    assert.equal(snapshotOf(0, stats(500), stats(300), 2, ring, undefined).shards[0]!.callsPerSecond, 100)
    // A pool that was connected anew counts from the start.
    assert.equal(snapshotOf(0, stats(5), stats(300), 2, ring, undefined).shards[0]!.callsPerSecond, 0)
  })

  it('takes what the pool does not know from the servers: epoch, replicas, operations', () => {
    const [shard] = snapshotOf(0, stats(1), undefined, 0, ring, picture()).shards
    assert.deepEqual([shard!.epoch, shard!.opsPerSecond, shard!.share], [3, 1, 0.5])
    assert.deepEqual(shard!.replicas, [{ address: '10.0.0.1:7002', good: true, text: '+0 B' }])
  })

  it('a shard whose writes are held is ready, one that is rebuilt is not', () => {
    const ready = (state: string) => snapshotOf(0, stats(1, { state }), undefined, 0, ring, undefined).shards[0]!.ready
    assert.deepEqual(['ready', 'holding', 'rebuilding', 'connecting'].map(ready), [true, true, false, false])
  })

  it('a sentinel is good when it is heard, answers, and is not in TILT', () => {
    const spoilt = healthy()
    spoilt.sentinels[2]!.tilt = true
    const { sentinels } = snapshotOf(0, stats(1), undefined, 0, ring, spoilt as unknown as TopologyPicture)
    assert.deepEqual(
      sentinels.map(({ good, text }) => [good, text]),
      [
        [true, 'heard'],
        [false, 'not heard'],
        [false, 'in TILT'],
      ],
    )
  })

  it('findings are those of doctor without the notices, and unknown before anybody has looked', () => {
    const spoilt = healthy()
    spoilt.shards[0]!.master!.claim = null
    spoilt.shards[0]!.master!.minReplicasToWrite = 0
    const { findings } = snapshotOf(0, stats(1), undefined, 0, ring, spoilt as unknown as TopologyPicture)
    assert.deepEqual(
      findings!.map(({ severity }) => severity),
      ['warning'],
    )
    assert.equal(snapshotOf(0, stats(1), undefined, 0, ring, undefined).findings, undefined)
  })
})
