import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { collect } from '../../../src/async/collect.js'

type Result = number | undefined

let now = 0
beforeEach(() => {
  now = 0
  mock.timers.enable({ apis: ['setTimeout'] })
})
afterEach(() => mock.timers.reset())

const turn = () => new Promise((resolve) => setImmediate(resolve))

async function pass(ms: number) {
  await turn()
  now += ms
  mock.timers.tick(ms)
  await turn()
  await turn()
}

function party() {
  let answer = (_: Result) => {}
  const promise = new Promise<Result>((resolve) => {
    answer = resolve
  })
  return { promise, answer: (result: Result) => answer(result) }
}

function start(parties: readonly Promise<Result>[], signal?: AbortSignal) {
  const state: { got: readonly Result[] | undefined; error: unknown } = { got: undefined, error: undefined }
  collect<Result>({
    parties,
    isAnswer: (r) => r !== undefined,
    isEnough: (all) => all.filter((r) => r === 1).length >= 2,
    graceMs: 8,
    settleMs: 60,
    afterFirstMs: 30,
    signal,
    now: () => now,
  }).then(
    (got) => {
      state.got = got
    },
    (error: unknown) => {
      state.error = error
    },
  )
  return state
}

test('collect: ends as soon as all have settled', async () => {
  const [a, b] = [party(), party()]
  const state = start([a.promise, b.promise])
  a.answer(undefined)
  b.answer(7)
  await turn()
  assert.deepEqual(state.got, [undefined, 7])
})

test('collect: nobody to ask is the end at once', async () => {
  const state = start([])
  await turn()
  assert.deepEqual(state.got, [])
})

test('collect: enough is enough after the grace, and who speaks in it is heard', async () => {
  const parties = [party(), party(), party(), party()]
  const state = start(parties.map((p) => p.promise))
  parties[0]!.answer(1)
  parties[1]!.answer(1)
  await pass(7)
  assert.equal(state.got, undefined)
  parties[2]!.answer(2)
  await pass(1)
  assert.deepEqual(state.got, [1, 1, 2])
})

test('collect: without agreement the slow one is overtaken when it has had its time', async () => {
  const [a, frozen] = [party(), party()]
  const state = start([a.promise, frozen.promise])
  a.answer(5)
  await pass(59)
  assert.equal(state.got, undefined)
  await pass(1)
  assert.deepEqual(state.got, [5])
})

test('collect: a late first answer still gives the others a moment', async () => {
  const [a, b] = [party(), party()]
  const state = start([a.promise, b.promise])
  await pass(200)
  a.answer(5)
  await pass(29)
  assert.equal(state.got, undefined)
  await pass(1)
  assert.deepEqual(state.got, [5])
})

test('collect: without any answer it waits for the last failure', async () => {
  const [a, b] = [party(), party()]
  const state = start([a.promise, b.promise])
  a.answer(undefined)
  await pass(1000)
  assert.equal(state.got, undefined)
  b.answer(undefined)
  await turn()
  assert.deepEqual(state.got, [undefined, undefined])
})

test('collect: an abort ends it with the reason and leaves no listener', async () => {
  const abort = new AbortController()
  const state = start([party().promise], abort.signal)
  const reason = new Error('stop')
  abort.abort(reason)
  await turn()
  assert.equal(state.error, reason)
  assert.equal(getEventListeners(abort.signal, 'abort').length, 0)
})
