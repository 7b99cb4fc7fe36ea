import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ringArcs } from '../../../src/cli/dashboard/ring-arcs.js'
import { createRing } from '../../../src/index.js'

const length = (arcs: readonly number[]) => arcs.reduce((sum, at, i) => sum + (i % 2 === 0 ? -at : at), 0)

describe('the arcs of the ring', () => {
  for (const preset of ['murmur3', 'jedis', 'ketama', 'modula', 'slots'] as const) {
    it(`of ${preset} are as long as the shares, and the whole circle together`, () => {
      const ring = createRing({ shards: ['a', { name: 'b', weight: 2 }, 'c'], ring: { preset } })
      const arcs = ringArcs(ring)
      for (const [i, { name, share }] of ring.describe().shards.entries()) {
        assert.equal(arcs[i]!.name, name)
        assert.ok(Math.abs(length(arcs[i]!.arcs) - share!) < 1e-9)
      }
    })
  }

  it('of a function are not known', () => {
    assert.deepEqual(ringArcs(createRing({ shards: ['a', 'b'], ring: () => 0 })), [
      { name: 'a', arcs: [] },
      { name: 'b', arcs: [] },
    ])
  })
})
