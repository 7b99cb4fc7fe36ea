import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { formatAddress } from '../../src/address.js'
import { ShardedSentinelPool } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { writeSamples } from '../support/readme-samples.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('the quick start runs against real servers, ends by itself, and its key is on the shard it names', async () => {
  await using topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'], replicas: 0 })
  const { masters, sentinels } = topology
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/quick-start.ts'], {
    cwd: root,
    env: { ...process.env, MASTERS: masters.join(','), SENTINELS: sentinels.map(formatAddress).join(',') },
    timeout: 30_000,
  })
  const { stdout, stderr } = await run
  await using pool = await new ShardedSentinelPool({ masters, sentinels }).connect()
  const owner = pool.locate('user:1')
  assert.equal(stderr, '')
  assert.equal(stdout, `${owner} Ada\n3\n`)
  const values = await Promise.all(
    masters.map(async (name) => [name, await (await topology.currentMaster(name)).command('GET', 'user:1')]),
  )
  assert.deepEqual(
    values.filter(([, value]) => value !== null),
    [[owner, 'Ada']],
  )
})

test('every sample of README runs against real servers and ends by itself', async () => {
  // One replica each: a sample makes its writes durable.
  await using topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'] })
  using written = writeSamples()
  const servers = { MASTERS: topology.masters.join(','), SENTINELS: topology.sentinels.map(formatAddress).join(',') }
  for (const file of written.files) {
    await promisify(execFile)(process.execPath, ['--import', 'tsx', file], {
      cwd: root,
      env: { ...process.env, ...servers },
      timeout: 60_000,
    })
  }
})
