import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { DrillReport } from '../../src/cli/drill/report.js'
import { LocalTopology } from '../../src/testing/index.js'
import { flagsOf } from '../support/doctor.js'
import { runCli } from '../support/run-cli.js'

describe('drill', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
  })
  after(() => topology.close())

  it('does nothing unless the name of the master is typed', async () => {
    const before = await topology.currentMaster('cache-b')
    for (const answer of ['yes', undefined]) {
      const { code, err } = await runCli(
        ['drill', 'cache-b', ...flagsOf(topology)],
        answer === undefined ? {} : { answer },
      )
      assert.equal(code, 3)
      assert.match(err, /Type the master's name to go on: Not confirmed; nothing was done/)
    }
    assert.equal(await topology.currentMaster('cache-b'), before)
  })

  it('answers a typo with the nearest master', async () => {
    const { code, err } = await runCli(['drill', 'cache-bb', ...flagsOf(topology)])
    assert.deepEqual([code, err], [2, "error: there is no master 'cache-bb'; did you mean 'cache-b'?\n"])
  })

  it('--kill-sim cuts our connections only: the pool comes back to the same master', async () => {
    const before = await topology.currentMaster('cache-b')
    const { code, out } = await runCli([
      'drill',
      'cache-b',
      '--kill-sim',
      '--cut-ms',
      '500',
      '--yes',
      '--json',
      ...flagsOf(topology),
    ])
    const report = JSON.parse(out) as DrillReport
    assert.deepEqual([code, report.passed, report.kind], [0, true, 'kill-sim'])
    assert.equal(await topology.currentMaster('cache-b'), before)
    const [cut, other] = [
      report.probe.find(({ shard }) => shard === 'cache-b')!,
      report.probe.find(({ shard }) => shard === 'cache-a')!,
    ]
    assert.ok(cut.windowMs >= 300, `window ${cut.windowMs}`)
    assert.deepEqual(other.errors, {})
    const told = report.timeLine.map(({ what }) => what).join('\n')
    assert.match(told, /connections cut[\s\S]*no usable connection[\s\S]*pass again[\s\S]*connected anew/)
  })

  it('fails the master over when its name is typed, and writes a report', async () => {
    const before = await topology.currentMaster('cache-b')
    const file = join(topology.folder, 'drill.md')
    const { code, out, err } = await runCli(['drill', 'cache-b', '--report', file, ...flagsOf(topology)], {
      answer: 'cache-b',
    })
    assert.equal(code, 0, out)
    const now = await topology.waitForSwitch('cache-b', before)
    assert.match(out, new RegExp(`Master before: \\S+:${before.port}\\. Master after: \\S+:${now.port}\\.`))
    assert.match(out, /- \[x\] cache-b takes writes again\n- \[x\] cache-b took no write for \d+ ms at most/)
    assert.match(out, /\| cache-a \| \d+ \| 0 \| 0 \| \d+ ms \| /)
    assert.match(out, /\+switch-master cache-b/)
    assert.match(err, / ms {2}drill: SENTINEL FAILOVER cache-b, accepted by/)
    assert.equal(readFileSync(file, 'utf8'), out)
    // What the probe wrote is gone.
    for (const name of topology.masters) assert.equal(await (await topology.currentMaster(name)).command('DBSIZE'), 0)
  })

  it('refuses, with the reasons, where a failover could not succeed', async () => {
    await topology.waitUntilSettled({ hurry: true })
    const [replica] = await topology.replicas('cache-a')
    await replica!.kill()
    const { code, err } = await runCli(['drill', 'cache-a', '--yes', ...flagsOf(topology)])
    assert.equal(code, 4)
    assert.match(err, /cache-a no-promotable-replica[\s\S]*Not drilled: a failover would fail for the reasons above/)
  })
})
