import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ShardState } from '../../../src/events.js'
import { nextState, type ShardSignal } from '../../../src/shard/states.js'

const STATES: readonly ShardState[] = ['connecting', 'ready', 'holding', 'rebuilding', 'closed']
const SIGNALS: readonly ShardSignal[] = ['verified', 'lost', 'announced', 'over', 'close']

describe('states of a shard', () => {
  const arrows: Record<ShardState, Partial<Record<ShardSignal, ShardState>>> = {
    connecting: { verified: 'ready', close: 'closed' },
    ready: { lost: 'rebuilding', announced: 'holding', close: 'closed' },
    holding: { verified: 'ready', lost: 'rebuilding', over: 'ready', close: 'closed' },
    rebuilding: { verified: 'ready', close: 'closed' },
    closed: {},
  }
  for (const state of STATES) {
    for (const signal of SIGNALS) {
      const next = arrows[state][signal] ?? state
      it(`${state} and '${signal}': ${next === state ? 'stays' : `becomes ${next}`}`, () => {
        assert.equal(nextState(state, signal), next)
      })
    }
  }

  it('nothing leaves closed', () => {
    assert.ok(SIGNALS.every((signal) => nextState('closed', signal) === 'closed'))
  })

  it('only a verified master makes a lost shard ready again', () => {
    const ways = SIGNALS.filter((signal) => nextState('rebuilding', signal) === 'ready')
    assert.deepEqual(ways, ['verified'])
  })
})
