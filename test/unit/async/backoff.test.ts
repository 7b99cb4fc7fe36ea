import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backoff } from '../../../src/async/backoff.js'

test('backoff: waits double up to the cap and start anew after reset', () => {
  const backoff = new Backoff({ minMs: 10, maxMs: 70, jitter: 0 })
  assert.deepEqual(
    [backoff.next(), backoff.next(), backoff.next(), backoff.next(), backoff.next()],
    [10, 20, 40, 70, 70],
  )
  backoff.reset()
  assert.equal(backoff.next(), 10)
})

test('backoff: jitter only shortens a wait, by at most its share', () => {
  const longest = new Backoff({ minMs: 100, maxMs: 100, jitter: 0.5, random: () => 0 })
  const shortest = new Backoff({ minMs: 100, maxMs: 100, jitter: 0.5, random: () => 0.999999 })
  assert.equal(longest.next(), 100)
  assert.ok(shortest.next() >= 50)
})

test('backoff: stays at the cap after thousands of attempts', () => {
  const backoff = new Backoff({ minMs: 1, maxMs: 1000, jitter: 0 })
  for (let i = 0; i < 5000; i++) backoff.next()
  assert.equal(backoff.next(), 1000)
})

test('backoff: a minimum above the cap is the cap', () => {
  assert.equal(new Backoff({ minMs: 500, maxMs: 100, jitter: 0 }).next(), 100)
})
