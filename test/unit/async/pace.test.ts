import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Pace } from '../../../src/async/pace.js'

describe('Pace', () => {
  it('over any stretch no more than the burst and what has filled meanwhile, whatever the jitter', () => {
    for (const random of [() => 0, () => 0.999, Math.random]) {
      let now = 0
      const pace = new Pace({ burst: 10, perSecond: 5, random, now: () => now })
      const times: number[] = []
      // One after another, each as soon as it may.
      while (now < 20_000) {
        now += pace.take()
        times.push(now)
        now += 1
      }
      for (const from of times) {
        const inOneSecond = times.filter((time) => time >= from && time < from + 1_000).length
        assert.ok(inOneSecond <= 15, `${inOneSecond} in the second from ${from}`)
      }
      assert.ok(times.length <= 10 + 5 * 20, `${times.length}`)
    }
  })

  it('those who come at once are spread, and rest fills it again, up to the burst', () => {
    let now = 0
    const pace = new Pace({ burst: 2, perSecond: 10, random: () => 0, now: () => now })
    assert.deepEqual(
      [1, 2, 3, 4].map(() => Math.round(pace.take())),
      [0, 0, 100, 200],
    )
    now += 60_000
    assert.deepEqual(
      [1, 2, 3].map(() => Math.round(pace.take())),
      [0, 0, 100],
    )
  })

  it('what is given back was never taken', () => {
    const pace = new Pace({ burst: 1, perSecond: 1, now: () => 0 })
    for (let i = 0; i < 100; i++) {
      assert.equal(pace.take(), 0)
      pace.giveBack()
    }
  })
})
