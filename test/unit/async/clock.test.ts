import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CoarseClock } from '../../../src/async/clock.js'
import { activeResources } from '../../support/sockets.js'

// The clock keeps no process alive, this does.
const alive = () => new Promise((resolve) => setTimeout(resolve, 60))

describe('coarse clock', () => {
  it('ticks for everybody with one timer, which ends with the last listener', async () => {
    const clock = new CoarseClock(5)
    let [one, two] = [0, 0]
    const stopOne = clock.onTick(() => one++)
    const stopTwo = clock.onTick(() => two++)
    await alive()
    assert.ok(one >= 3 && two >= 3)
    stopOne()
    const [oneThen, twoThen] = [one, two]
    await alive()
    assert.equal(one, oneThen)
    assert.ok(two > twoThen)
    stopTwo()
    const then = two
    await alive()
    assert.equal(two, then)
  })

  it('tells the time to a tick, and exactly when it is refreshed', async () => {
    const clock = new CoarseClock(5)
    const before = clock.now
    assert.ok(clock.refresh() >= before)
    const stop = clock.onTick(() => {})
    await alive()
    assert.ok(performance.now() - clock.now < 50)
    stop()
  })

  it('the next tick is waited for once, and leaves no timer behind', async () => {
    const clock = new CoarseClock(5)
    const before = activeResources().Timeout ?? 0
    await Promise.all([clock.nextTick(), clock.nextTick(), alive()])
    assert.equal(activeResources().Timeout ?? 0, before)
  })
})
