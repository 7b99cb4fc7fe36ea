import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { onAbort } from '../../../src/async/abort.js'

test('onAbort: many wait for one signal with one listener, and none is left behind', () => {
  const abort = new AbortController()
  let called = 0
  const stops = Array.from({ length: 20 }, () => onAbort(abort.signal, () => called++))
  assert.equal(getEventListeners(abort.signal, 'abort').length, 1)
  for (const stop of stops.slice(5)) stop()
  stops[5]!()
  abort.abort()
  assert.equal(called, 5)
  assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
  for (const stop of stops) stop()
})

test('onAbort: the last one to go takes the listener along, and another may come', () => {
  const abort = new AbortController()
  onAbort(abort.signal, () => assert.fail('it has gone'))()
  assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
  let called = 0
  onAbort(abort.signal, () => called++)
  abort.abort()
  assert.equal(called, 1)
})

test('onAbort: one that goes while the others are called is not called', () => {
  const abort = new AbortController()
  const calls: string[] = []
  onAbort(abort.signal, () => {
    calls.push('first')
    stop()
  })
  const stop = onAbort(abort.signal, () => calls.push('second'))
  abort.abort()
  assert.deepEqual(calls, ['first'])
})
