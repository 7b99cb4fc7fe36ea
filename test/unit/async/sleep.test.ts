import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { mock, test } from 'node:test'
import { sleep } from '../../../src/async/sleep.js'

test('sleep: resolves after its time and leaves no listener', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const abort = new AbortController()
    const slept = sleep(1000, abort.signal)
    assert.equal(getEventListeners(abort.signal, 'abort').length, 1)
    mock.timers.tick(1000)
    await slept
    assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
  } finally {
    mock.timers.reset()
  }
})

test('sleep: rejects with the reason in the tick of the abort', async () => {
  const abort = new AbortController()
  const reason = new Error('enough')
  const slept = sleep(60_000, abort.signal)
  abort.abort(reason)
  await assert.rejects(slept, reason)
  assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
})

test('sleep: an aborted signal rejects before any timer is made', async () => {
  const reason = new Error('before')
  await assert.rejects(sleep(60_000, AbortSignal.abort(reason)), reason)
})
