import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channels, readNews } from '../../../src/sentinel/messages.js'

test('messages: a switch is read with both addresses', () => {
  assert.deepEqual(readNews('+switch-master', 's0 ::1 1 ::1 2'), {
    kind: 'switch',
    masterName: 's0',
    from: { host: '::1', port: 1 },
    to: { host: '::1', port: 2 },
  })
})

test('messages: the steps of a failover, with the node where it is named', () => {
  const slave = 'slave 10.0.0.1:2 10.0.0.1 2 @ s0 10.0.0.1 1'
  const master = 'master s0 10.0.0.1 1'
  const phase = (channel: string, message: string) => {
    const news = readNews(channel, message)
    return news?.kind === 'progress' ? [news.masterName, news.phase, news.candidate?.port] : news
  }
  assert.deepEqual(phase('+try-failover', master), ['s0', 'started', undefined])
  assert.deepEqual(phase('+failover-state-select-slave', master), ['s0', 'selecting', undefined])
  assert.deepEqual(phase('+selected-slave', slave), ['s0', 'selected', 2])
  assert.deepEqual(phase('+failover-state-send-slaveof-noone', slave), ['s0', 'promoting', 2])
  assert.deepEqual(phase('+promoted-slave', slave), ['s0', 'promoted', 2])
  assert.deepEqual(phase('+failover-end', master), ['s0', 'ended', undefined])
  assert.deepEqual(phase('-failover-abort-not-elected', master), ['s0', 'aborted', undefined])
})

test('messages: a master monitored anew, removed or reset is in doubt', () => {
  for (const channel of ['+monitor', '-monitor', '+reset-master', '+set']) {
    assert.deepEqual(readNews(channel, 'master s0 10.0.0.1 1 quorum 2'), { kind: 'reset', masterName: 's0' })
  }
})

test('messages: a new sentinel brings its run id and address', () => {
  assert.deepEqual(readNews('+sentinel', 'sentinel abc 10.0.0.9 26379 @ s0 10.0.0.1 1'), {
    kind: 'peer',
    masterName: 's0',
    address: { host: '10.0.0.9', port: 26379 },
    runId: 'abc',
  })
})

test('messages: tilt concerns no master, and garbage is nothing', () => {
  assert.deepEqual(readNews('+tilt', '#tilt mode entered'), { kind: 'other', masterName: undefined })
  for (const channel of channels) {
    if (channel !== '+tilt' && channel !== '-tilt') assert.equal(readNews(channel, 'what?'), undefined)
  }
})

test('messages: channels are named one by one, each once', () => {
  assert.equal(new Set(channels).size, channels.length)
  assert.ok(channels.every((channel) => /^[+-][a-z-]+$/.test(channel)))
})
