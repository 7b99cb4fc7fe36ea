import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ProbeReport } from '../../../src/cli/drill/probe.js'
import { judgeDrill, reportText } from '../../../src/cli/drill/report.js'

const probe = (shard: string, more: Partial<ProbeReport> = {}): ProbeReport => ({
  shard,
  operations: 100,
  errors: {},
  unknown: 0,
  longestMs: 12.4,
  windowMs: 0,
  windowFrom: undefined,
  ...more,
})
const passes = (...args: Parameters<typeof judgeDrill>) => judgeDrill(...args).every(({ good }) => good)

describe('the verdict on a drill', () => {
  it('is good when the shard came back, nothing is in doubt and nobody else felt it', () => {
    assert.equal(passes('failover', 'a', true, [probe('a', { windowMs: 900 }), probe('b')]), true)
  })

  it('is good in spite of errors that the failed shard itself had', () => {
    assert.equal(passes('failover', 'a', true, [probe('a', { errors: { COMMAND_TIMEOUT: 3 } }), probe('b')]), true)
  })

  it('is bad when the shard did not come back, another had errors, or a write is in doubt', () => {
    assert.equal(passes('failover', 'a', false, [probe('a')]), false)
    assert.equal(passes('failover', 'a', true, [probe('a'), probe('b', { errors: { ECONNRESET: 1 } })]), false)
    assert.equal(passes('failover', 'a', true, [probe('a', { unknown: 1 })]), false)
  })

  it('doubt is no fault where the line itself was cut', () => {
    assert.equal(passes('kill-sim', 'a', true, [probe('a', { unknown: 1 })]), true)
  })

  it('a shard without keys is told of as such', () => {
    assert.match(judgeDrill('failover', 'a', true, [probe('b')])[1]!.sentence, /owns no keys/)
  })
})

it('the report is a document with the verdict, a row per shard and the time line', () => {
  const rows = [probe('a', { windowMs: 800.6, windowFrom: 1_000.2, errors: { COMMAND_TIMEOUT: 2 } }), probe('b')]
  const text = reportText({
    master: 'a',
    kind: 'failover',
    startedAt: '2026-01-01T00:00:00.000Z',
    passed: true,
    checks: judgeDrill('failover', 'a', true, rows),
    from: 'h:1',
    to: 'h:2',
    probe: rows,
    timeLine: [{ atMs: 7, what: 'drill: began' }],
  })
  assert.match(
    text,
    /^# Failover drill: a\n\n2026-01-01T00:00:00\.000Z, SENTINEL FAILOVER\. Passed\.\nMaster before: h:1\. Master after: h:2\.\n/,
  )
  assert.match(
    text,
    /\| a \| 100 \| 2 COMMAND_TIMEOUT \| 0 \| 12 ms \| 801 ms, from 1000 ms on \|\n\| b \| 100 \| 0 \| 0 \| 12 ms \| none \|/,
  )
  assert.match(text, /\| 7 \| drill: began \|\n$/)
})
