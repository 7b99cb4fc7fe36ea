import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { closeStory, errorsOfOthers, failUnderLoad, lostAfterSwitch, type Story } from '../support/failover-scenario.js'
import { errorsByCode } from '../support/load.js'
import { Monitor, type MonitoredCommand } from '../support/monitor.js'
import { until } from '../support/waiting.js'

/** What was in the air at the moment of the switch may arrive so much later, in ms. */
const IN_THE_AIR_MS = 25

describe('a failover is ordered (SENTINEL FAILOVER): the old master stays up and goes on saying master', () => {
  let story: Story
  let monitor: Monitor
  let switchedAtWallClock: number
  let oldStillSaysMaster: boolean
  before(async () => {
    story = await failUnderLoad(async (master, topology, pool) => {
      monitor = await Monitor.start(master.address)
      pool.once('failover', () => {
        switchedAtWallClock = Date.now()
      })
      await until('the monitor to see the load', () => monitor.commands.length > 200)
      await topology.failover('cache-a')
      oldStillSaysMaster = (await master.role()).role === 'master'
    })
    await story.oldMaster.command('PING')
  })
  after(async () => {
    monitor?.stop()
    await closeStory(story)
  })

  const ofPool = (commands: readonly MonitoredCommand[]) => {
    const isOurs = ({ words }: MonitoredCommand) => words.some((word) => word.startsWith('sharded-sentinel-pool'))
    const clients = new Set(commands.filter(isOurs).map((command) => command.client))
    for (const line of story.clientsOfOldBefore) clients.add(line.addr)
    return commands.filter((command) => clients.has(command.client))
  }

  it('the old master still said so after the replica was promoted', () => {
    assert.equal(oldStillSaysMaster, true)
  })

  it('no command of the pool reaches the old master after the new one is verified', () => {
    const commands = ofPool(monitor.commands)
    assert.ok(commands.length > 100, 'the monitor has seen the load')
    const late = commands.filter((command) => command.at > switchedAtWallClock + IN_THE_AIR_MS)
    assert.deepEqual(
      late.map((command) => [Math.round(command.at - switchedAtWallClock), command.words.slice(0, 2)]),
      [],
    )
    assert.equal(story.socketsToOld, 1, 'only that of the monitor')
  })

  it('the pool follows ahead of the sentinels’ announcement, once', () => {
    assert.equal(story.failovers.length, 1)
    assert.equal(story.event.reason, 'failover-progress')
    assert.deepEqual(story.event.to, story.newMaster.address)
  })

  it('every acknowledged write that was called after the switch is on the new master', async () => {
    assert.deepEqual(await lostAfterSwitch(story), [])
  })

  it('the app sees no error at all but writes that were in the air, told as unknown', () => {
    const failed = story.calls.filter((call) => call.shard === story.failed && call.error !== undefined)
    for (const { error, kind } of failed) {
      const { code, outcome } = error as { code: string; outcome: string }
      assert.deepEqual([kind, code, outcome], ['set', 'CONNECTION_LOST', 'unknown'])
    }
    assert.ok(failed.length <= 3, JSON.stringify(errorsByCode(failed)))
  })

  it('the other shards see no error and keep their very connections', () => {
    assert.deepEqual(errorsOfOthers(story), {})
    assert.deepEqual(story.idsAfter, story.idsBefore)
  })
})
