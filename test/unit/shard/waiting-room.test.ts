import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import { WaitingRoom } from '../../../src/shard/waiting-room.js'

const FOREVER = Number.POSITIVE_INFINITY

function room(maxWaiting = 3): WaitingRoom {
  return new WaitingRoom({
    maxWaiting,
    full: (waiting) => new Error(`full: ${waiting}`),
    overdue: (waiting) => new Error(`overdue: ${waiting}`),
  })
}

describe('waiting room', () => {
  it('lets everybody go on in the order they came', async () => {
    const order: number[] = []
    const waiting = room()
    const all = [1, 2, 3].map((n) => waiting.enter(FOREVER).then(() => order.push(n)))
    assert.equal(waiting.size, 3)
    waiting.open()
    assert.equal(waiting.size, 0)
    await Promise.all(all)
    assert.deepEqual(order, [1, 2, 3])
  })

  it('refuses at once who would be one too many, and takes the next when somebody has left', async () => {
    const waiting = room(1)
    const first = waiting.enter(10)
    await assert.rejects(waiting.enter(FOREVER), /full: 1/)
    waiting.sweep(10)
    await assert.rejects(first, /overdue: 1/)
    const second = waiting.enter(FOREVER)
    waiting.open()
    await second
  })

  it('ends only the waits whose deadline has come', async () => {
    const waiting = room()
    const soon = waiting.enter(100)
    const later = waiting.enter(200)
    waiting.sweep(99)
    assert.equal(waiting.size, 2)
    waiting.sweep(100)
    await assert.rejects(soon, /overdue: 2/)
    assert.equal(waiting.size, 1)
    waiting.open()
    await later
  })

  it('an aborted wait ends at once with the signal’s reason and takes no place', async () => {
    const waiting = room(1)
    const abort = new AbortController()
    const reason = new Error('not wanted any more')
    const wait = waiting.enter(FOREVER, abort.signal)
    abort.abort(reason)
    await assert.rejects(wait, reason)
    assert.equal(waiting.size, 0)
    await assert.rejects(waiting.enter(FOREVER, abort.signal), reason)
  })

  it('who is sent away has an error of his own: what is put on it is nobody else’s', async () => {
    const waiting = room()
    const ends = [waiting.enter(FOREVER), waiting.enter(FOREVER)].map((wait) => wait.catch((error: unknown) => error))
    waiting.fail(() => new Error('closed'))
    const [one, two] = await Promise.all(ends)
    assert.notEqual(one, two)
  })

  it('whichever way a wait ends, nothing stays on its signal', async () => {
    const { signal } = new AbortController()
    const waiting = room()
    const opened = waiting.enter(FOREVER, signal)
    waiting.open()
    await opened
    const overdue = waiting.enter(5, signal)
    waiting.sweep(5)
    await assert.rejects(overdue)
    const failed = waiting.enter(FOREVER, signal)
    waiting.fail(() => new Error('closed'))
    await assert.rejects(failed, /closed/)
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })
})
