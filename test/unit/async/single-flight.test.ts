import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SingleFlight } from '../../../src/async/single-flight.js'

test('single flight: callers of one key share one run, other keys have their own', async () => {
  const flight = new SingleFlight<string, number>()
  let runs = 0
  const work = async () => ++runs
  const [a, b, c] = await Promise.all([flight.run('a', work), flight.run('a', work), flight.run('c', work)])
  assert.deepEqual([a, b, c], [1, 1, 2])
  assert.equal(flight.size, 0)
})

test('single flight: a failed run frees its key, also when it throws at once', async () => {
  const flight = new SingleFlight<string, number>()
  const broken = () => {
    throw new Error('broken')
  }
  await assert.rejects(flight.run('a', broken), /broken/)
  assert.equal(flight.has('a'), false)
  assert.equal(await flight.run('a', async () => 2), 2)
})

test('single flight: a caller in the first handler starts a new run', async () => {
  const flight = new SingleFlight<string, number>()
  let runs = 0
  const work = async () => ++runs
  const second = flight.run('a', work).then(() => flight.run('a', work))
  assert.equal(await second, 2)
})
