import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, agreementMs, decide, type Incumbent, isSafe } from '../../../src/sentinel/decide.js'

const at = (port: number) => ({ host: '10.0.0.1', port })
const A = 6001
const B = 6002
const C = 6003

/** `says('s1', B, 2)`: sentinel s1 names B at epoch 2. A null port: unknown name; undefined: no answer. */
function says(sentinel: string, port: number | null | undefined, configEpoch?: number): Answer {
  const address = typeof port === 'number' ? at(port) : port
  return { sentinel, id: sentinel, address, configEpoch, ...(port === undefined ? { error: 'ECONNREFUSED' } : {}) }
}

function incumbent(port: number, configEpoch: number | undefined, settings: Partial<Incumbent> = {}): Incumbent {
  return { address: at(port), configEpoch, followed: false, ageMs: 60_000, ...settings }
}

interface Row {
  readonly title: string
  readonly answers: readonly Answer[]
  readonly known?: number
  readonly incumbent?: Incumbent
  /** `unknown`, `unreachable`, or the ports in order: `?` needs a witness, `h` is held. */
  readonly expect: string
}

const table: readonly Row[] = [
  { title: 'one answer is taken', answers: [says('s1', A, 1)], expect: '6001' },
  { title: 'agreement is taken', answers: [says('s1', A, 1), says('s2', A, 1)], expect: '6001' },
  {
    title: 'silence of all is unreachable',
    answers: [says('s1', undefined), says('s2', undefined)],
    expect: 'unreachable',
  },
  { title: 'no sentinel at all is unreachable', answers: [], expect: 'unreachable' },
  { title: 'null of all is unknown', answers: [says('s1', null), says('s2', null)], expect: 'unknown' },
  { title: 'null beside silence is unknown', answers: [says('s1', null), says('s2', undefined)], expect: 'unknown' },
  { title: 'one null does not spoil', answers: [says('s1', null), says('s2', A, 1)], expect: '6001' },
  {
    title: 'a stale sentinel loses against the majority of a higher epoch',
    answers: [says('s1', A, 1), says('s2', B, 2), says('s3', B, 2)],
    expect: '6002 6001?',
  },
  {
    title: 'the leader alone with a higher epoch leads, if another knows its node',
    answers: [says('s1', A, 1), says('s2', A, 1), says('s3', B, 2)],
    expect: '6002? 6001',
  },
  {
    title: 'where epochs are hidden the majority leads',
    answers: [says('s1', B), says('s2', A), says('s3', A)],
    expect: '6001 6002?',
  },
  {
    title: 'one hidden epoch makes epochs no measure',
    answers: [says('s1', B, 9), says('s2', A), says('s3', A)],
    expect: '6001 6002?',
  },
  {
    title: 'one against one: both need a witness',
    answers: [says('s1', A, 1), says('s2', B, 2)],
    expect: '6002? 6001?',
  },
  {
    title: 'one against one with hidden epochs: the incumbent stays first',
    answers: [says('s1', A), says('s2', B)],
    incumbent: incumbent(B, undefined),
    expect: '6002? 6001?',
  },
  {
    title: 'the same sentinel under two names has one vote',
    answers: [
      { ...says('name:1', B, 1), id: 'x' },
      { ...says('ip:1', B, 1), id: 'x' },
      says('s2', A, 1),
      says('s3', A, 1),
    ],
    expect: '6001 6002?',
  },
  {
    title: 'a lone stale sentinel is held against a verified master of a higher epoch',
    answers: [says('s1', A, 1), says('s2', undefined), says('s3', undefined)],
    known: 3,
    incumbent: incumbent(B, 2),
    expect: '6001h',
  },
  {
    title: 'even the majority is held while the sentinels may not have agreed yet',
    answers: [says('s1', A, 1), says('s2', A, 1), says('s3', undefined)],
    known: 3,
    incumbent: incumbent(B, 2, { ageMs: agreementMs - 1 }),
    expect: '6001h',
  },
  {
    title: 'later a majority of a lower epoch means a master monitored anew',
    answers: [says('s1', C, 0), says('s2', C, 0), says('s3', undefined)],
    known: 3,
    incumbent: incumbent(B, 2),
    expect: '6003',
  },
  {
    title: 'the only sentinel there is may monitor a master anew',
    answers: [says('s1', C, 0)],
    incumbent: incumbent(B, 2),
    expect: '6003',
  },
  {
    title: 'a higher epoch moves on from the verified master',
    answers: [says('s1', A, 3), says('s2', undefined), says('s3', undefined)],
    known: 3,
    incumbent: incumbent(B, 2, { ageMs: 0 }),
    expect: '6001',
  },
  {
    title: 'a followed master is kept until it is announced',
    answers: [says('s1', A, 1), says('s2', A, 1), says('s3', A, 1)],
    incumbent: incumbent(B, 1.5, { followed: true, ageMs: 10 }),
    expect: '6001h',
  },
  {
    title: 'a followed master is kept also where epochs are hidden',
    answers: [says('s1', A), says('s2', A), says('s3', A)],
    incumbent: incumbent(B, undefined, { followed: true, ageMs: 10 }),
    expect: '6001h',
  },
  {
    title: 'a followed master that is never announced gives way to the majority',
    answers: [says('s1', A, 1), says('s2', A, 1), says('s3', A, 1)],
    incumbent: incumbent(B, 1.5, { followed: true, ageMs: agreementMs }),
    expect: '6001',
  },
]

for (const row of table) {
  test(`decide: ${row.title}`, () => {
    const known = row.known ?? row.answers.length
    const verdict = decide(row.answers, known, row.incumbent)
    const said =
      verdict.kind === 'candidates'
        ? verdict.candidates.map((c) => `${c.address.port}${c.needsWitness ? '?' : ''}${c.held ? 'h' : ''}`).join(' ')
        : verdict.kind
    assert.equal(said, row.expect)
  })
}

test('decide: names the sentinel that knew the highest epoch', () => {
  const verdict = decide([says('s1', B, 1), says('s2', B, 2)], 2)
  assert.equal(verdict.kind === 'candidates' && verdict.candidates[0]?.namedBy, 's2')
})

test('decide: asking stops at more than half of all known, all of one mind', () => {
  assert.equal(isSafe([says('s1', A, 1)], 3), false)
  assert.equal(isSafe([says('s1', A, 1), says('s2', A, 1)], 3), true)
  assert.equal(isSafe([says('s1', A, 1), says('s2', B, 2)], 3), false)
  assert.equal(isSafe([says('s1', A, 1), says('s2', A, 1), says('s3', B, 2)], 3), false)
  assert.equal(isSafe([says('s1', A, 1), says('s2', A, 1)], 4), false)
  assert.equal(isSafe([], 0), false)
})

test('decide: asking does not stop before the announcer has spoken', () => {
  assert.equal(isSafe([says('s1', A, 1), says('s2', A, 1)], 3, 's3'), false)
  assert.equal(isSafe([says('s1', A, 1), says('s2', A, 1), says('s3', undefined)], 3, 's3'), true)
})
