import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidOptionsError } from '../../../src/errors.js'
import { type LocalTopologyOptions, readTopologyOptions } from '../../../src/testing/topology-options.js'

describe('readTopologyOptions', () => {
  it('fills in one shard with one replica under three sentinels', () => {
    const settings = readTopologyOptions()
    assert.deepEqual(settings.names, ['shard-0'])
    assert.equal(settings.replicas, 1)
    assert.equal(settings.sentinels, 3)
    assert.equal(settings.quorum, 2)
    assert.equal(settings.downAfterMs, 1_000)
    assert.equal(settings.host, '127.0.0.1')
    assert.deepEqual(settings.proxy, { data: false, sentinels: false })
  })

  it('keeps the names and their order', () => {
    assert.deepEqual(readTopologyOptions({ shards: ['b', 'a'] }).names, ['b', 'a'])
    assert.deepEqual(readTopologyOptions({ shards: 3 }).names, ['shard-0', 'shard-1', 'shard-2'])
  })

  it('takes an option that is undefined for one that is not there', () => {
    const settings = readTopologyOptions({ acl: undefined, fast: undefined } as unknown as LocalTopologyOptions)
    assert.deepEqual(settings.acl, [])
    assert.equal(settings.fast, false)
  })

  const wrong: [string, LocalTopologyOptions][] = [
    ['shards', { shards: 0 }],
    ['shards', { shards: [] }],
    ['shards', { shards: ['a', 'a'] }],
    ['shards', { shards: ['a b'] }],
    ['replicas', { replicas: -1 }],
    ['sentinels', { sentinels: 1.5 }],
    ['quorum', { quorum: 0 }],
    ['downAfterMs', { downAfterMs: 1 }],
    ['failoverTimeoutMs', { failoverTimeoutMs: Number.NaN }],
    ['host', { host: 'localhost' }],
  ]
  for (const [option, options] of wrong) {
    it(`refuses ${JSON.stringify(options)} and names ${option}`, () => {
      assert.throws(
        () => readTopologyOptions(options),
        (error: unknown) => error instanceof InvalidOptionsError && error.option === option,
      )
    })
  }
})
