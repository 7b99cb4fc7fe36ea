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

  it('sleeps until somebody needs a tick, and is woken by whoever asks for the time', async () => {
    const clock = new CoarseClock(5)
    let ticks = 0
    let rest = performance.now() + 60_000
    const stop = clock.onTick(
      () => ticks++,
      () => rest,
    )
    await alive()
    assert.equal(clock.asleep, true)
    assert.equal(ticks, 1)
    const asleepAt = clock.now
    const before = performance.now()
    assert.ok(clock.refresh() >= before)
    assert.equal(clock.asleep, false)
    assert.ok(clock.beganAt(asleepAt) >= before)
    assert.equal(clock.beganAt(before + 60_000), before + 60_000)
    const awake = performance.now()
    while (!clock.asleep) await alive()
    clock.refresh()
    assert.equal(clock.beganAt(awake), awake, 'a call that slept and woke in between is as old as it is')
    rest = 0
    await alive()
    assert.ok(ticks >= 4, `${ticks} ticks`)
    assert.equal(clock.asleep, false)
    stop()
  })

  it('ticks when the rest is over, and what was awake for one listener is awake for all', async () => {
    const clock = new CoarseClock(5)
    const at: number[] = []
    const rest = performance.now() + 100
    const stop = clock.onTick(
      (now) => at.push(now),
      () => (performance.now() < rest ? rest : rest + 10_000),
    )
    while (at.length < 2) await alive()
    assert.ok(at[1]! >= rest && at[1]! < rest + 50, `${at[1]! - rest} ms late`)
    await alive()
    assert.equal(clock.asleep, true)
    const stopOther = clock.onTick(() => {})
    await alive()
    assert.ok(at.length >= 4)
    stopOther()
    stop()
  })

  it('tells for how long the process itself stood still, and takes no sleep for that', async () => {
    const clock = new CoarseClock(5)
    const stalls: number[] = []
    let rest = 0
    const stop = clock.onTick(
      () => stalls.push(clock.stalledMs),
      () => rest,
    )
    await alive()
    stalls.length = 0
    for (const end = performance.now() + 200; performance.now() < end; );
    await alive()
    assert.ok(stalls[0]! > 150, `${stalls[0]} ms`)
    const sleeps: number[] = []
    for (let i = 0; i < 5; i++) {
      stalls.length = 0
      rest = performance.now() + 100
      await new Promise((resolve) => setTimeout(resolve, 150))
      sleeps.push(Math.max(...stalls))
    }
    // A busy machine may be late now and then.
    assert.ok(Math.min(...sleeps) < 50, `${sleeps} ms`)
    stop()
  })

  it('the next tick is waited for once, and leaves no timer behind, be the clock stopped meanwhile', async () => {
    const clock = new CoarseClock(5)
    const before = activeResources().Timeout ?? 0
    const stop = clock.onTick(() => {})
    await Promise.all([clock.nextTick(), clock.nextTick(), alive()])
    let came = false
    void clock.nextTick().then(() => {
      came = true
    })
    stop()
    assert.equal(activeResources().Timeout ?? 0, before)
    await alive()
    assert.equal(came, false)
  })
})
