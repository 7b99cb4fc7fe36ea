import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { VerifiedMaster } from '../../../src/sentinel/index.js'
import { Rebuilder, type Trigger } from '../../../src/shard/rebuild.js'
import { StubConnection, turn } from '../../support/stub-connection.js'
import { StubSource } from '../../support/stub-source.js'
import { until } from '../../support/waiting.js'

const A = { host: '10.0.0.1', port: 6379 }
const B = { host: '10.0.0.2', port: 6379 }
const C = { host: '10.0.0.3', port: 6379 }

function rebuilder(settings: { goesOn?: () => boolean; takes?: boolean } = {}) {
  const source = new StubSource()
  const verified: { master: VerifiedMaster; trigger: Trigger }[] = []
  const failures: Error[] = []
  const unit = new Rebuilder({
    masterName: 'cache-a',
    source: source.asSource,
    attemptTimeoutMs: 1_600,
    onVerified: (master, trigger) => {
      verified.push({ master, trigger })
      return settings.takes ?? true
    },
    onFailed: (error) => {
      failures.push(error)
      return settings.goesOn?.() ?? true
    },
  })
  const asked = (count: number) => until(`${count} questions`, () => source.questions.length >= count, 3_000)
  return { unit, source, verified, failures, asked }
}

describe('rebuild: one run at a time', () => {
  it('whatever triggers it while a run is under way joins it', async () => {
    const { unit, source, verified } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    unit.trigger({ reason: 'call-timeout' })
    unit.trigger({ reason: 'periodic-check' })
    assert.equal(source.questions.length, 1)
    source.last.found(A)
    await turn()
    assert.equal(verified.length, 1)
    assert.equal(verified[0]!.trigger.reason, 'connection-lost')
    assert.equal(unit.runs, 1)
    assert.equal(unit.running, false)
  })

  it('a source that tells of a change while it is being asked is asked again: its answer may be from before', async () => {
    const { unit, source, verified, asked } = rebuilder()
    unit.trigger({ reason: 'connect' })
    unit.trigger({ reason: 'switch-master', asksAnew: true })
    unit.trigger({ reason: 'switch-master', asksAnew: true })
    source.last.found(A)
    await asked(2)
    source.last.found(B)
    await turn()
    assert.deepEqual(
      verified.map(({ master }) => master.address),
      [A, B],
    )
    assert.equal(source.questions.length, 2)
    assert.equal(unit.running, false)
  })

  it('the same hint told again changes nothing', async () => {
    const { unit, source } = rebuilder()
    for (let i = 0; i < 3; i++) unit.trigger({ reason: 'switch-master', hint: B })
    assert.equal(source.questions.length, 1)
    assert.deepEqual(source.last.hint, B)
    assert.equal(source.last.signal.aborted, false)
    source.last.found(B)
    await turn()
  })

  it('who knows more replaces the attempt, not the run, and the first reason stays', async () => {
    const { unit, source, verified, asked } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    unit.trigger({ reason: 'failover-progress', candidate: B, followMs: 2_000 })
    assert.equal(source.questions[0]!.signal.aborted, true)
    await asked(2)
    assert.deepEqual([source.last.kind, source.last.candidate, source.last.timeoutMs], ['follow', B, 2_000])
    source.last.found(B)
    await turn()
    assert.equal(unit.runs, 1)
    assert.deepEqual(verified[0]!.master.address, B)
    assert.equal(verified[0]!.trigger.reason, 'connection-lost')
  })

  it('a hint that came while the old answer was on its way is looked into after it', async () => {
    const { unit, source, verified, asked } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    // The answer is there, and the news comes in the same turn.
    source.last.found(A)
    unit.trigger({ reason: 'switch-master', hint: C })
    await asked(2)
    assert.deepEqual(verified[0]?.master.address, A)
    assert.deepEqual(source.last.hint, C)
    source.last.found(C)
    await turn()
    assert.deepEqual(verified.at(-1)!.master.address, C)
  })

  it('a failover that is called off leads back to the sentinels', async () => {
    const { unit, source, asked } = rebuilder()
    unit.trigger({ reason: 'failover-progress', candidate: B })
    unit.stopFollowing()
    await asked(2)
    assert.equal(source.last.kind, 'resolve')
    unit.stop()
  })

  it('a candidate that did not become master is forgotten', async () => {
    const { unit, source, asked } = rebuilder()
    unit.trigger({ reason: 'failover-progress', candidate: B })
    source.last.failed()
    await asked(2)
    assert.deepEqual([source.last.kind, source.last.candidate], ['resolve', undefined])
    unit.stop()
  })
})

describe('rebuild: again and again until it succeeds', () => {
  it('waits between attempts grow and are bounded', async () => {
    const { unit, source, failures, asked } = rebuilder()
    const startedAt = performance.now()
    unit.trigger({ reason: 'connection-lost' })
    for (let attempt = 1; attempt <= 5; attempt++) {
      await asked(attempt)
      source.last.failed()
    }
    await asked(6)
    // 10, 20, 40, 80, 160 ms, each shortened by at most a half.
    assert.ok(performance.now() - startedAt >= 150)
    assert.equal(failures.length, 5)
    unit.stop()
  })

  it('ends when the shard can do without', async () => {
    const { unit, source, failures } = rebuilder({ goesOn: () => false })
    unit.trigger({ reason: 'periodic-check' })
    source.last.failed()
    await turn()
    assert.equal(failures.length, 1)
    assert.equal(unit.running, false)
    unit.trigger({ reason: 'connection-lost' })
    assert.equal(source.questions.length, 2)
    unit.stop()
  })

  it('news in the middle of a wait ends the wait', async () => {
    const { unit, source, asked } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    for (let attempt = 1; attempt <= 6; attempt++) {
      await asked(attempt)
      source.last.failed()
    }
    await turn()
    const at = performance.now()
    unit.trigger({ reason: 'switch-master', hint: B })
    await asked(7)
    assert.ok(performance.now() - at < 100)
    assert.deepEqual(source.last.hint, B)
    unit.stop()
  })

  it('a server that lets in and throws out at once is not knocked at without a pause', async () => {
    const { unit, source, verified } = rebuilder()
    const startedAt = performance.now()
    let knocked = 0
    while (performance.now() - startedAt < 1_000) {
      unit.trigger({ reason: 'connection-lost' })
      const before = source.questions.length
      if (before === knocked) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        continue
      }
      knocked = before
      source.last.found(A)
      await turn()
    }
    assert.equal(verified.length, knocked)
    assert.ok(knocked <= 15, `${knocked} times in a second`)
    unit.stop()
  })

  it('but news of another node are looked into at once even then', async () => {
    const { unit, source } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    source.last.found(A)
    await turn()
    unit.trigger({ reason: 'switch-master', hint: B })
    assert.equal(source.questions.length, 2)
    unit.stop()
  })
})

describe('rebuild: stop', () => {
  it('aborts the attempt, and nothing starts after it', async () => {
    const { unit, source, verified, failures } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    unit.stop()
    assert.equal(source.last.signal.aborted, true)
    await turn()
    unit.trigger({ reason: 'connection-lost' })
    assert.equal(source.questions.length, 1)
    assert.deepEqual([verified.length, failures.length, unit.running], [0, 0, false])
  })

  it('an answer that comes just then is destroyed, not handed on', async () => {
    const { unit, source, verified } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    const connection = source.last.found(A, new StubConnection())
    unit.stop()
    await turn()
    assert.equal(connection.ended, true)
    assert.equal(verified.length, 0)
  })

  it('ends a wait between attempts', async () => {
    const { unit, source } = rebuilder()
    unit.trigger({ reason: 'connection-lost' })
    source.last.failed()
    await turn()
    unit.stop()
    await turn()
    assert.equal(unit.running, false)
  })
})
