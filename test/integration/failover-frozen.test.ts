import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  closeStory,
  errorsOfOthers,
  failUnderLoad,
  lostAfterSwitch,
  overdue,
  type Story,
  wrongReads,
} from '../support/failover-scenario.js'

describe('a master is frozen with SIGSTOP, its sockets stay open', () => {
  let story: Story
  before(async () => {
    story = await failUnderLoad(async (master) => master.freeze())
  })
  after(() => closeStory(story))

  it('the pool follows to the promoted replica by itself, and says so once', async () => {
    assert.equal(story.failovers.length, 1)
    assert.deepEqual(story.event.from, story.oldMaster.address)
    assert.deepEqual(story.event.to, story.newMaster.address)
    assert.equal((await story.newMaster.role()).role, 'master')
    assert.equal(story.oldMaster.state, 'frozen')
  })

  it('no socket to the frozen master is left from the moment the new one is verified', () => {
    assert.equal(story.socketsToOld, 0)
  })

  it('every acknowledged write that was called after the switch is on the new master', async () => {
    assert.deepEqual(await lostAfterSwitch(story), [])
  })

  it('each call has ended by its deadline, also those in flight on the frozen sockets', () => {
    assert.deepEqual(overdue(story), [])
    const failed = story.calls.filter((call) => call.shard === story.failed && call.error !== undefined)
    for (const { error } of failed) {
      const { code } = error as { code: string }
      assert.ok(['CONNECTION_LOST', 'SHARD_UNAVAILABLE', 'COMMAND_TIMEOUT'].includes(code), `${code}: ${String(error)}`)
    }
  })

  it('no read gives anything but what was written there', () => {
    assert.deepEqual(wrongReads(story), [])
  })

  it('the other shards see no error and keep their very connections', () => {
    assert.deepEqual(errorsOfOthers(story), {})
    assert.deepEqual(story.idsAfter, story.idsBefore)
  })
})
