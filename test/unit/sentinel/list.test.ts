import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameOf, SentinelList } from '../../../src/sentinel/list.js'

const at = (host: string, port = 26379) => ({ host, port })
const names = (list: SentinelList) => list.entries().map(nameOf)

function listOf(...hosts: string[]) {
  let now = 0
  const list = new SentinelList(
    hosts.map((h) => at(h)),
    { forgetAfterMs: 1000, now: () => now },
  )
  const find = (host: string) => list.entries().find((e) => e.address.host === host)!
  return { list, find, tick: (ms: number) => (now += ms) }
}

test('sentinel list: the same seed twice is one, in whatever spelling', () => {
  const list = new SentinelList([at('::1'), at('0:0:0:0:0:0:0:1'), at('A.example.'), at('a.example')])
  assert.equal(list.size, 2)
})

test('sentinel list: the announcer comes first, then the last good one, then as they came', () => {
  const { list, find } = listOf('a', 'b', 'c')
  list.prefer(find('b'))
  assert.deepEqual(list.entries(at('c')).map(nameOf), ['c:26379', 'b:26379', 'a:26379'])
  assert.deepEqual(list.entries(at('x')).map(nameOf), ['b:26379', 'a:26379', 'c:26379'])
})

test('sentinel list: peers join once, whoever tells of them', () => {
  const { list } = listOf('a')
  let changes = 0
  list.onChange(() => changes++)
  list.learn([{ address: at('10.0.0.2'), runId: 'r2' }])
  list.learn([{ address: at('10.0.0.2'), runId: 'r2' }])
  list.learn([{ address: at('10.0.0.3'), runId: 'r2' }])
  assert.deepEqual(names(list), ['a:26379', '10.0.0.2:26379'])
  assert.equal(changes, 1)
})

test('sentinel list: a seed by name and a peer by IP with one run id are one, and the seed stays', () => {
  const { list, find } = listOf('a', 'b')
  list.learn([{ address: at('10.0.0.1'), runId: 'r1' }])
  list.succeeded(find('10.0.0.1'))
  assert.equal(list.size, 3)
  assert.equal(list.identify(find('a'), 'r1'), undefined)
  assert.deepEqual(names(list), ['a:26379', 'b:26379'])
  list.learn([{ address: at('10.0.0.1'), runId: 'r1' }])
  assert.equal(list.size, 2)
})

test('sentinel list: two seeds of one sentinel are asked once, and both remain', () => {
  const { list, find } = listOf('a', 'b')
  const [a, b] = [find('a'), find('b')]
  list.identify(a, 'r1')
  list.succeeded(a)
  assert.equal(list.identify(b, 'r1'), a)
  assert.deepEqual(names(list), ['a:26379'])
  assert.equal(list.has(b), false)
  list.failed(a)
  assert.deepEqual(names(list), ['a:26379', 'b:26379'])
  list.succeeded(b)
  assert.equal(list.identify(b, 'r1'), undefined)
  assert.equal(list.size, 2)
})

test('sentinel list: an entry that has never answered does not stand for one that has', () => {
  const { list, find } = listOf('a', 'b')
  const [a, b] = [find('a'), find('b')]
  list.identify(a, 'r1')
  assert.equal(list.identify(b, 'r1'), undefined)
  assert.deepEqual(names(list), ['b:26379'])
})

test('sentinel list: a name that leads to another sentinel now is another one', () => {
  const { list, find } = listOf('a', 'b')
  const [a, b] = [find('a'), find('b')]
  for (const [entry, id] of [
    [a, 'r1'],
    [b, 'r2'],
  ] as const) {
    list.identify(entry, id)
    list.succeeded(entry)
  }
  assert.equal(list.identify(b, 'r1'), a)
  assert.equal(list.size, 1)
  assert.equal(list.identify(b, 'r3'), undefined)
  assert.equal(list.size, 2)
})

test('sentinel list: a discovered one that nobody reaches for long leaves, a seed never', () => {
  const { list, find, tick } = listOf('a')
  list.learn([{ address: at('10.0.0.2'), runId: 'r2' }])
  const peer = find('10.0.0.2')
  list.failed(peer)
  assert.equal(list.size, 2)
  tick(1001)
  list.failed(peer)
  list.failed(find('a'))
  assert.deepEqual(names(list), ['a:26379'])
})

test('sentinel list: a peer that came back at another address takes its place', () => {
  const { list, find } = listOf('a')
  list.learn([{ address: at('10.0.0.2'), runId: 'r2' }])
  list.failed(find('10.0.0.2'))
  list.learn([{ address: at('10.0.0.9'), runId: 'r2' }])
  assert.deepEqual(names(list), ['a:26379', '10.0.0.9:26379'])
})

test('sentinel list: a liar cannot make it grow without end', () => {
  const { list } = listOf('a')
  list.learn(Array.from({ length: 1000 }, (_, i) => ({ address: at('10.0.0.2', i + 1), runId: `r${i}` })))
  assert.equal(list.size, 33)
})

test('sentinel list: a stopped listener hears nothing', () => {
  const { list } = listOf('a')
  let changes = 0
  const stop = list.onChange(() => changes++)
  stop()
  list.learn([{ address: at('b'), runId: undefined }])
  assert.equal(changes, 0)
})
