import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { agreementMs, decide } from '../../../src/sentinel/decide.js'
import { VerifiedMasters } from '../../../src/sentinel/verified.js'

const at = (port: number) => ({ host: '127.0.0.1', port })

/** Masters of which port 1 was verified in `epoch`, on a clock that stands. */
function knowing(epoch: number | undefined): VerifiedMasters {
  const masters = new VerifiedMasters(() => 0)
  masters.proved('s0', at(1), epoch)
  return masters
}

/** Would one of three sentinels that names port 2 in `epoch` have to wait for the incumbent? */
function holds(masters: VerifiedMasters, epoch: number): boolean {
  const answer = { sentinel: 'x', id: 'x', address: at(2), configEpoch: epoch }
  const verdict = decide([answer], 3, masters.get('s0'))
  assert.equal(verdict.kind, 'candidates')
  return verdict.kind === 'candidates' && verdict.candidates[0]!.held
}

/** With an epoch it was the leader who told it. */
function follow(masters: VerifiedMasters, port: number, replacedEpoch: number | undefined, late: boolean): void {
  masters.followed('s0', at(port), { replacedEpoch, leaderHeard: replacedEpoch !== undefined, late })
}

describe('the epoch of a followed master', () => {
  it('lies between that of the master it replaces and the next', () => {
    const masters = knowing(4)
    follow(masters, 3, 4, false)
    assert.equal(masters.get('s0')!.configEpoch, 4.5)
    assert.equal(holds(masters, 4), true)
    assert.equal(holds(masters, 6), false)
  })

  it('is what the leader of the failover says, where a failover was missed', () => {
    const masters = knowing(4)
    follow(masters, 3, 6, true)
    assert.equal(masters.get('s0')!.configEpoch, 6.5)
    assert.equal(holds(masters, 6), true)
  })

  it('is unknown where one may have been missed and no leader was heard: no word outranks it for now', () => {
    const masters = knowing(4)
    follow(masters, 3, undefined, true)
    assert.equal(masters.get('s0')!.configEpoch, undefined)
    assert.equal(holds(masters, 5), true)
  })

  it('is the next at least where it became master at once and no leader was heard: one sentinel alone does not outrank it', () => {
    const masters = knowing(4)
    follow(masters, 3, undefined, false)
    assert.equal(masters.get('s0')!.configEpoch, 4.5)
    assert.equal(holds(masters, 6), true)
    const said = ['x', 'y'].map((id) => ({ sentinel: id, id, address: at(2), configEpoch: 6 }))
    const verdict = decide(said, 3, masters.get('s0'))
    assert.equal(verdict.kind === 'candidates' && verdict.candidates[0]!.held, false, 'a majority does')
    masters.proved('s0', at(3), 5)
    assert.equal(holds(masters, 6), false, 'nor does one need a majority once the epoch is known')
  })

  it('says nothing of the master it was to replace where no leader was heard: all who name that one have not heard of it', () => {
    let now = 0
    const masters = new VerifiedMasters(() => now)
    masters.proved('s0', at(1), 4)
    masters.followed('s0', at(3), { replacedEpoch: undefined, leaderHeard: false, late: false, replaced: at(2) })
    // A failover was missed: that of epoch 5 was to port 2, and a majority says so.
    const said = ['x', 'y'].map((id) => ({ sentinel: id, id, address: at(2), configEpoch: 5 }))
    const isHeld = () => {
      const verdict = decide(said, 3, masters.get('s0'))
      return verdict.kind === 'candidates' && verdict.candidates[0]!.held
    }
    assert.equal(isHeld(), true)
    assert.equal(masters.wasReplaced('s0', at(2), 5), true)
    assert.equal(masters.wasReplaced('s0', at(1), 5), false)
    assert.equal(masters.wasReplaced('s0', at(2), 6), false, 'back again: no other failover has that epoch')
    now = agreementMs
    assert.equal(isHeld(), false, 'by now they should have')
    masters.followed('s0', at(4), { replacedEpoch: 7, leaderHeard: true, late: false, replaced: at(2) })
    assert.equal(masters.wasReplaced('s0', at(2), 5), false, 'the epoch tells it')
    assert.equal(masters.get('s0')!.configEpoch, 7.5)
  })

  it('lies above that of another followed one, which it replaces', () => {
    const masters = knowing(4)
    follow(masters, 3, 4, false)
    follow(masters, 4, undefined, false)
    assert.equal(masters.get('s0')!.configEpoch, 5.5)
    assert.equal(holds(masters, 5), true)
  })

  it('becomes the announced one, and it is not younger for it', () => {
    let now = 0
    const masters = new VerifiedMasters(() => now)
    follow(masters, 3, 4, false)
    now = 100
    masters.proved('s0', at(3), 5)
    assert.deepEqual(masters.get('s0'), { address: at(3), configEpoch: 5, followed: false, since: 0, ageMs: 100 })
  })

  it('is not lowered by a sentinel that remembers an earlier time when the same node was the master', () => {
    let now = 0
    const masters = new VerifiedMasters(() => now)
    masters.proved('s0', at(1), 0)
    masters.proved('s0', at(3), 1)
    follow(masters, 1, 1, false)
    masters.proved('s0', at(1), 0)
    assert.equal(masters.get('s0')!.configEpoch, 1.5)
    assert.equal(holds(masters, 1), true)
    // Later a lower one means that it is monitored anew.
    now = 6_000
    masters.proved('s0', at(1), 0)
    assert.equal(masters.get('s0')!.configEpoch, 0)
  })
})
