import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { formatAddress } from '../../src/address.js'
import { PLACEMENT_KEY } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { doctorOf, flagsOf, untilFound } from '../support/doctor.js'
import { poolOn } from '../support/pool-on-topology.js'
import { runCli } from '../support/run-cli.js'

describe('doctor on three sentinels and two shards', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({
      shards: ['cache-a', 'cache-b'],
      dataConfig: { 'min-replicas-to-write': 1 },
      downAfterMs: 1_000,
    })
    await using pool = poolOn(topology, { placementGuard: 'claim' })
    await pool.connect()
  })
  after(() => topology.close())
  const shard = (name: string) =>
    topology.shard(name).nodes as [(typeof topology.nodes)[number], (typeof topology.nodes)[number]]

  it('finds nothing in a healthy one, and says so to people and to machines', async () => {
    const { code, verdict, findings } = await doctorOf(topology)
    assert.deepEqual([code, verdict, findings], [0, 'healthy', []])
    const people = await runCli(['doctor', '--strict', ...flagsOf(topology)])
    assert.equal(people.code, 0)
    assert.match(
      people.out,
      /^Asked 2 shards, 3 sentinels, 4 data nodes in \d+ ms\.\n\nHealthy: a failover would work\./,
    )
  })

  it('finds sentinels that only other sentinels told of', async () => {
    const { code, findings } = await doctorOf(topology, { sentinels: [topology.sentinels[1]!] })
    assert.deepEqual([code, findings], [0, []])
  })

  it('finds a name that no sentinel knows', async () => {
    const { code, verdict, find } = await doctorOf(topology, { masters: ['cache-a', 'cache-B'] })
    assert.deepEqual([code, verdict], [1, 'failing'])
    assert.equal(find('name-unknown')?.subject, 'cache-B')
  })

  it('finds addresses that sentinels reach and this machine does not', async () => {
    const [master] = shard('cache-a')
    // Port 1 of loopback: nobody listens there.
    const { find } = await doctorOf(topology, { addressMap: { [formatAddress(master.address)]: '127.0.0.1:1' } })
    const found = find('address-not-reachable')
    assert.equal(found?.severity, 'error')
    assert.match(
      found.cause,
      /127\.0\.0\.1:1 \(announced as 127\.0\.0\.1:\d+\) cannot be reached from here \(ECONNREFUSED\)/,
    )
    assert.match(found.cure, /addressMap/)
  })

  it('finds that another ring has placed the data', async () => {
    const { find } = await doctorOf(topology, { ring: { preset: 'jedis' } })
    assert.match(find('placement-mismatch')!.cause, /murmur3.*jedis/)
    const [master] = shard('cache-b')
    await master.command('DEL', PLACEMENT_KEY)
    assert.equal((await doctorOf(topology)).find('placement-unclaimed')?.subject, 'cache-b')
  })

  it('finds that min-replicas-to-write is off; a warning, which --strict makes a failure', async () => {
    const [master] = shard('cache-a')
    await master.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
    const { code, verdict, find } = await doctorOf(topology)
    assert.deepEqual([code, verdict, find('min-replicas-off')?.severity], [0, 'at-risk', 'warning'])
    const strict = await runCli(['doctor', '--strict', ...flagsOf(topology)])
    assert.equal(strict.code, 1)
    assert.match(
      strict.out,
      /! cache-a min-replicas-off\n {4}min-replicas-to-write is 0 on .*\n[\s\S]*Cure: CONFIG SET/,
    )
    assert.match(strict.out, /At risk: .*\(0 errors, 1 warning, 1 notice\)\n$/)
    await master.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
  })

  it('finds that no replica may be promoted', async () => {
    const [, replica] = shard('cache-a')
    await replica.command('CONFIG', 'SET', 'replica-priority', '0')
    assert.equal((await doctorOf(topology)).find('no-promotable-replica')?.subject, 'cache-a')
    await replica.command('CONFIG', 'SET', 'replica-priority', '100')
  })

  it('finds two masters of one shard', async () => {
    const [master, replica] = shard('cache-b')
    await replica.command('REPLICAOF', 'NO', 'ONE')
    const { find } = await doctorOf(topology)
    assert.match(find('two-masters')!.cause, new RegExp(`${replica.port} says master too, besides .*${master.port}`))
    await replica.command('REPLICAOF', master.host, master.port)
    await topology.waitUntilSettled({ hurry: true })
  })

  it('finds a replica that is down, and that its shard has no successor then', async () => {
    const [, replica] = shard('cache-b')
    await replica.kill()
    const { verdict, find } = await doctorOf(topology)
    assert.equal(verdict, 'failing')
    assert.match(find('replica-down')!.cause, new RegExp(`${replica.port} cannot be asked \\(ECONNREFUSED\\)`))
    assert.equal(find('no-promotable-replica')?.subject, 'cache-b')
    assert.equal(find('min-replicas-unmet')?.subject, 'cache-b')
    await replica.restart()
    await topology.waitUntilSettled({ hurry: true })
  })

  it('finds a sentinel that does not answer, and then that the quorum cannot be reached', async () => {
    const [, second, third] = topology.sentinelNodes
    third!.freeze()
    const one = await doctorOf(topology)
    assert.equal(one.find('sentinel-unreachable')?.subject, formatAddress(third!.address))
    assert.match(one.find('sentinel-unreachable')!.cause, /timeout/)
    await second!.kill()
    const { code, finding } = await untilFound(topology, 'quorum-not-reachable')
    assert.equal(code, 1)
    assert.match(finding.cause, /NOQUORUM/)
  })
})

describe('doctor after a sentinel was cut off', () => {
  it('finds that it stands at an old epoch and names the master of before', async () => {
    await using topology = await LocalTopology.start({ shards: ['cache-a'] })
    const [stale] = topology.sentinelNodes
    await topology.isolateSentinel(0)
    const { from, to } = await topology.failover('cache-a', { until: 'agreed' })
    const { find, verdict } = await doctorOf(topology)
    assert.equal(verdict !== 'healthy', true)
    assert.equal(find('sentinel-outdated')?.subject, formatAddress(stale!.address))
    const disagree = find('sentinels-disagree')!
    assert.equal(disagree.severity, 'warning')
    assert.ok(disagree.cause.includes(`says ${formatAddress(from.address)}`))
    assert.ok(disagree.cause.includes(`names ${formatAddress(to.address)}`))
  })
})

describe('doctor on secured servers', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({
      shards: ['cache-a'],
      sentinels: 1,
      password: 'data-secret',
      acl: ['app on >app-secret ~* &* +@all -role -info -@admin', 'whole on >whole-secret ~* &* +@all'],
      sentinelPassword: 'sentinel-secret',
      sentinelAcl: ['few on >few-secret ~* resetchannels +ping +hello +auth +client +sentinel|get-master-addr-by-name'],
    })
  })
  after(() => topology.close())
  const sentinelClient = { password: 'sentinel-secret' }

  it('finds that the sentinels want a password', async () => {
    const { find } = await doctorOf(topology)
    assert.match(find('sentinel-refuses-login')!.cause, /NOAUTH/)
    assert.equal(find('no-sentinel-answers')?.severity, 'error')
  })

  it('finds that the data nodes want a password, or another one', async () => {
    const none = await doctorOf(topology, { sentinelClient })
    assert.match(none.find('data-refuses-login')!.cause, /NOAUTH/)
    const wrong = await doctorOf(topology, { sentinelClient, client: { password: 'no' } })
    assert.match(wrong.find('data-refuses-login')!.cause, /WRONGPASS/)
  })

  it('finds the rights that are missing, by name, and never shows a password', async () => {
    const client = { username: 'app', password: 'app-secret' }
    const flags = flagsOf(topology, { client, sentinelClient: { username: 'few', password: 'few-secret' } })
    const { code, out } = await runCli(['doctor', '--json', ...flags])
    assert.equal(code, 1)
    assert.ok(!out.includes('app-secret') && !out.includes('few-secret'))
    const { findings } = JSON.parse(out) as {
      findings: { code: string; severity: string; cause: string; cure: string }[]
    }
    const data = findings.find((finding) => finding.code === 'data-acl')!
    assert.equal(data.severity, 'error')
    assert.match(data.cure, /ACL SETUSER <user> \+role \+info/)
    const sentinel = findings.find((finding) => finding.code === 'sentinel-acl')!
    assert.match(sentinel.cause, /SENTINEL MASTER.*SUBSCRIBE \+switch-master/)
    assert.match(sentinel.cure, /\+sentinel\|master .*\+subscribe &\+switch-master/)
  })

  it('finds that one sentinel is too few, and nothing about rights for a user that has them', async () => {
    const { findings } = await doctorOf(topology, {
      sentinelClient,
      client: { username: 'whole', password: 'whole-secret' },
    })
    assert.deepEqual(
      findings.map(({ code }) => code),
      ['too-few-sentinels', 'min-replicas-off', 'placement-unclaimed'],
    )
  })
})

describe('doctor on servers that speak TLS', () => {
  it('finds that the client does not, and that it does not trust the certificate', async () => {
    await using topology = await LocalTopology.start({
      shards: ['cache-a'],
      sentinels: 1,
      replicas: 0,
      tls: { data: true },
    })
    const plain = await doctorOf(topology)
    assert.match(plain.find('data-tls')!.cure, /client: \{ socket: \{ tls: true, ca \} \}/)
    const unknown = await doctorOf(topology, { client: { socket: { tls: true } } })
    assert.match(unknown.find('data-tls')!.cause, /CERT|SIGNED/)
    const trusted = await doctorOf(topology, { client: { socket: { tls: true, ca: topology.tls!.ca } } })
    assert.equal(trusted.find('data-tls'), undefined)
    assert.equal(trusted.find('no-replica')?.severity, 'error')
  })
})

describe('doctor without sentinels', () => {
  it('checks masters at fixed addresses', async () => {
    await using topology = await LocalTopology.start({ shards: ['cache-a'], sentinels: 0, replicas: 1 })
    const [master, replica] = topology.shard('cache-a').nodes
    const options = (port: number) => ({
      masters: [{ name: 'cache-a', host: '127.0.0.1', port }],
      sentinels: undefined as never,
    })
    assert.equal((await doctorOf(topology, options(master!.port))).verdict, 'healthy')
    const demoted = await doctorOf(topology, options(replica!.port))
    assert.match(demoted.find('role-mismatch')!.cause, /says it is a slave/)
  })
})
