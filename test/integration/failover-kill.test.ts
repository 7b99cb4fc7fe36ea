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
import { poolClients } from '../support/pool-on-topology.js'

describe('a master is killed with SIGKILL while an app reads and writes', () => {
  let story: Story
  before(async () => {
    story = await failUnderLoad((master) => master.kill())
  })
  after(() => closeStory(story))

  it('the pool follows to the promoted replica by itself, and says so once', async () => {
    assert.equal(story.failovers.length, 1)
    const { shard, from, to, generation } = story.event
    assert.equal(shard, story.failed)
    assert.deepEqual(from, story.oldMaster.address)
    assert.deepEqual(to, story.newMaster.address)
    assert.equal(generation, 2)
    assert.equal((await story.newMaster.role()).role, 'master')
    assert.equal(story.pool.stats().shards[0]!.reconnects, 0)
  })

  it('every acknowledged write that was called after the switch is on the new master', async () => {
    assert.deepEqual(await lostAfterSwitch(story), [])
  })

  it('each call has ended by its deadline', () => {
    assert.deepEqual(overdue(story), [])
  })

  it('what failed on the killed shard is told as lost or unavailable, with its outcome', () => {
    const errors = story.calls.filter((call) => call.shard === story.failed && call.error !== undefined)
    for (const { error, kind } of errors) {
      const { code, outcome, shard } = error as { code: string; outcome: string; shard: string }
      assert.ok(
        code === 'CONNECTION_LOST' || code === 'SHARD_UNAVAILABLE' || code === 'COMMAND_TIMEOUT',
        `${code}: ${String(error)}`,
      )
      assert.equal(shard, story.failed)
      if (code === 'CONNECTION_LOST') assert.deepEqual([kind, outcome], ['set', 'unknown'])
      if (code === 'SHARD_UNAVAILABLE') assert.equal(outcome, 'not-sent')
    }
  })

  it('no read gives anything but what was written there', () => {
    assert.deepEqual(wrongReads(story), [])
  })

  it('the other shards see no error and keep their very connections', () => {
    assert.deepEqual(errorsOfOthers(story), {})
    assert.deepEqual(story.idsAfter, story.idsBefore)
  })

  it('no socket to the killed master is left, and the pool talks to the new one', async () => {
    assert.equal(story.socketsToOld, 0)
    assert.ok((await poolClients(story.newMaster)).length > 0)
  })
})
