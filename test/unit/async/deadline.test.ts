import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { bounded, Deadline } from '../../../src/async/deadline.js'

const never = () => new Promise<never>(() => {})

test('deadline: tells what is left and never less than nothing', () => {
  let now = 100
  const deadline = new Deadline(50, () => now)
  assert.equal(deadline.remainingMs, 50)
  now = 130
  assert.equal(deadline.remainingMs, 20)
  assert.equal(deadline.expired, false)
  now = 1000
  assert.equal(deadline.remainingMs, 0)
  assert.equal(deadline.expired, true)
})

test('bounded: passes a value and a rejection through and leaves no listener', async () => {
  const { signal } = new AbortController()
  const settings = { timeoutMs: 60_000, onTimeout: () => new Error('late'), signal }
  assert.equal(await bounded(Promise.resolve(7), settings), 7)
  await assert.rejects(bounded(Promise.reject(new Error('own')), settings), /own/)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('bounded: a promise that never settles rejects when the time is up', async () => {
  await assert.rejects(bounded(never(), { timeoutMs: 5, onTimeout: () => new Error('late') }), /late/)
})

test('bounded: an abort rejects at once, also one that came before', async () => {
  const abort = new AbortController()
  const waiting = bounded(never(), { timeoutMs: 60_000, onTimeout: () => new Error('late'), signal: abort.signal })
  abort.abort(new Error('stop'))
  await assert.rejects(waiting, /stop/)
  const late = bounded(never(), { timeoutMs: 60_000, onTimeout: () => new Error('late'), signal: abort.signal })
  await assert.rejects(late, /stop/)
})

test('bounded: the loser may reject later without anyone noticing', async () => {
  let fail = (_: Error) => {}
  const slow = new Promise<never>((_, reject) => {
    fail = reject
  })
  await assert.rejects(bounded(slow, { timeoutMs: 1, onTimeout: () => new Error('late') }), /late/)
  fail(new Error('nobody hears this'))
  await new Promise((resolve) => setImmediate(resolve))
})
