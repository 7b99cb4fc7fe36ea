import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { formatAddress } from '../../src/address.js'
import { createRing, type TopologyPicture } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { flagsOf } from '../support/doctor.js'
import { keyOf, poolOn } from '../support/pool-on-topology.js'
import { runCli } from '../support/run-cli.js'
import { until } from '../support/waiting.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('status, locate and plan on real servers', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
  })
  after(() => topology.close())

  it('status shows every master with its replicas and what each sentinel believes', async () => {
    const { code, out } = await runCli(['status', ...flagsOf(topology)])
    assert.equal(code, 0)
    for (const { name, nodes } of topology.shards) {
      const [master, replica] = nodes.map((node) => formatAddress(node.address))
      assert.match(out, new RegExp(`\\n${name} +${master} +0 +\\d+\\.\\d % .* 3 of 3 +${replica} \\+\\d+ B\\n`))
    }
    for (const { address } of topology.sentinelNodes) {
      assert.match(
        out,
        new RegExp(`\\n${formatAddress(address)} +\\d+\\.\\d ms +7\\.\\S+ +cache-a \\S+@0, cache-b \\S+@0\\n`),
      )
    }
    assert.ok(!out.includes('!'), 'nothing is marked')
  })

  it('status marks the shard whose master is away, and its exit code says so', async () => {
    const [master, replica] = topology.shard('cache-b').nodes
    master!.freeze()
    const { code, out } = await runCli(['status', '--timeout', '300', ...flagsOf(topology)])
    assert.equal(code, 1)
    assert.match(out, new RegExp(`\\ncache-b ! +${formatAddress(master!.address)} timeout !`))
    assert.match(out, /\ncache-a +127/)
    master!.cont()
    await topology.waitUntilSettled({ hurry: true })
    assert.ok(replica)
  })

  it('status --json is the picture itself', async () => {
    const { out } = await runCli(['status', '--json', ...flagsOf(topology)])
    const picture = JSON.parse(out) as TopologyPicture
    assert.deepEqual(
      picture.shards.map(({ name, master }) => [name, master!.role, master!.namedMasterBy.length]),
      [
        ['cache-a', 'master', 3],
        ['cache-b', 'master', 3],
      ],
    )
  })

  it('status ends with exit code 4 when nobody can be asked', async () => {
    const { code } = await runCli(['status', '-m', 'a', '-s', '127.0.0.1:1', '--timeout', '300'])
    assert.equal(code, 4)
  })

  it('status --watch goes on until it is interrupted, and then the process ends by itself', async () => {
    const args = [
      '--import',
      'tsx',
      'src/cli/main.ts',
      'status',
      '--watch',
      '--interval',
      '100',
      '--json',
      ...flagsOf(topology),
    ]
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    await until('three pictures', () => out.split('\n').length > 3, 30_000)
    child.kill('SIGINT')
    const [code] = (await once(child, 'exit')) as [number]
    assert.deepEqual([code, err], [130, ''])
    for (const line of out.trim().split('\n')) assert.equal((JSON.parse(line) as TopologyPicture).shards.length, 2)
  })

  it('locate adds the address of the master', async () => {
    const ring = createRing({ shards: topology.masters })
    const shard = topology.masters[ring.locate('user:1')]!
    const master = await topology.currentMaster(shard)
    const { code, out } = await runCli(['locate', '--json', 'user:1', ...flagsOf(topology)])
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { key: 'user:1', shard, address: formatAddress(master.address) })
  })

  it('plan --sample counts real keys, and tells of those that are not where --from places them', async () => {
    await using pool = poolOn(topology, { placementGuard: 'claim' })
    await pool.connect()
    await Promise.all(Array.from({ length: 200 }, (_, i) => pool.set(`sample:${i}`, 'x')))
    const [, from] = flagsOf(topology)
    const [, to] = flagsOf(topology, { masters: [...topology.masters, 'cache-c'] })
    const good = await runCli(['plan', '--from', from!, '--to', to!, '--sample', '--json'])
    assert.equal(good.code, 0)
    const plan = JSON.parse(good.out) as { keys: number; moved: number; strays: number }
    // The two claims are keys as well.
    assert.deepEqual([plan.keys, plan.strays], [202, 0])
    assert.ok(plan.moved > 0.15 && plan.moved < 0.55)
    assert.match(good.err, /keys sampled: 202 of 202\n/)

    const stray = `${keyOf(pool, 'cache-a')}stray`
    await topology.shard('cache-b').nodes[0]!.command('SET', stray, 'x')
    const bad = await runCli(['plan', '--from', from!, '--to', to!, '--sample', '--keys-max', '5000'])
    assert.equal(bad.code, 1)
    assert.ok(
      bad.out.includes(
        `1 key of the sample is not where --from places it, such as '${stray}': it is on cache-b and would be looked for on cache-a`,
      ),
    )
  })
})
