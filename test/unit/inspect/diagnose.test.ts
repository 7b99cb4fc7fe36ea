import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diagnose, type Finding, type FindingCode, type Severity, verdictOf } from '../../../src/index.js'
import { healthy, type LoosePicture, looseNode } from './pictures.js'

type Row = readonly [
  title: string,
  spoil: (picture: LoosePicture) => void,
  code: FindingCode,
  severity: Severity,
  subject: string,
  cause: RegExp,
  cure: RegExp,
]

const beliefs = (picture: LoosePicture, name: string) =>
  picture.sentinels.flatMap((sentinel) => sentinel.beliefs.filter((belief) => belief.masterName === name))
const cacheA = (picture: LoosePicture) => picture.shards[0]!
const master = (picture: LoosePicture) => cacheA(picture).master!
const replica = (picture: LoosePicture) => cacheA(picture).others[0]!
const one = '10.0.0.1:26379'

const ROWS: readonly Row[] = [
  [
    'no sentinel answers',
    (p) => {
      for (const s of p.sentinels) Object.assign(s, { error: 'timeout', beliefs: [] })
    },
    'no-sentinel-answers',
    'error',
    'sentinels',
    /none of 10\.0\.0\.1:26379/,
    /firewall/,
  ],
  [
    'a sentinel is down',
    (p) => Object.assign(p.sentinels[0]!, { error: 'ECONNREFUSED', beliefs: [] }),
    'sentinel-unreachable',
    'warning',
    one,
    /ECONNREFUSED/,
    /start it/,
  ],
  [
    'a sentinel that the others told of is not reachable from here',
    (p) => Object.assign(p.sentinels[0]!, { error: 'timeout', beliefs: [], seed: false }),
    'sentinel-unreachable',
    'warning',
    one,
    /told of by another/,
    /addressMap/,
  ],
  [
    'a sentinel wants a password',
    (p) => Object.assign(p.sentinels[0]!, { error: 'NOAUTH Authentication required.', beliefs: [] }),
    'sentinel-refuses-login',
    'error',
    one,
    /NOAUTH/,
    /sentinelClient/,
  ],
  [
    'the certificate of a sentinel is of an unknown authority',
    (p) => Object.assign(p.sentinels[0]!, { error: 'SELF_SIGNED_CERT_IN_CHAIN', beliefs: [] }),
    'sentinel-tls',
    'error',
    one,
    /SELF_SIGNED/,
    /sentinelClient: \{ socket: \{ tls/,
  ],
  [
    'there are two sentinels',
    (p) => void p.sentinels.pop(),
    'too-few-sentinels',
    'warning',
    'sentinels',
    /2 sentinels/,
    /at least three/,
  ],
  [
    'a sentinel is in TILT',
    (p) => Object.assign(p.sentinels[0]!, { tilt: true }),
    'sentinel-in-tilt',
    'error',
    one,
    /TILT/,
    /clock/,
  ],
  [
    'a sentinel does not know another one',
    (p) => void p.sentinels[0]!.beliefs[0]!.peers!.pop(),
    'sentinel-isolated',
    'warning',
    one,
    /does not know 10\.0\.0\.1:26381/,
    /__sentinel__:hello/,
  ],
  [
    'a peer that is gone is still counted',
    (p) =>
      p.sentinels[0]!.beliefs[0]!.peers!.push({
        address: { host: '10.9.9.9', port: 1 },
        runId: 'x',
        flags: ['sentinel', 's_down'],
      }),
    'sentinel-ghost',
    'warning',
    '10.9.9.9:1',
    /hold it to be down/,
    /SENTINEL RESET cache-a/,
  ],
  [
    'the ACL of a sentinel denies the one question that matters',
    (p) => p.sentinels[0]!.denied.push('SENTINEL GET-MASTER-ADDR-BY-NAME'),
    'sentinel-acl',
    'error',
    one,
    /no master can be found/,
    /\+sentinel\|get-master-addr-by-name/,
  ],
  [
    'the ACL of a sentinel denies the subscription',
    (p) => p.sentinels[0]!.denied.push('SUBSCRIBE +switch-master'),
    'sentinel-acl',
    'warning',
    one,
    /SUBSCRIBE/,
    /\+subscribe &\+switch-master/,
  ],
  [
    'the ACL of a sentinel denies what the pool can do without',
    (p) => p.sentinels[0]!.denied.push('SENTINEL MASTER'),
    'sentinel-acl',
    'notice',
    one,
    /does without/,
    /\+sentinel\|master/,
  ],
  [
    'no sentinel knows the name',
    (p) => {
      for (const belief of beliefs(p, 'cache-a'))
        Object.assign(belief, { address: null, announced: undefined, configEpoch: undefined, flags: [] })
      cacheA(p).master = undefined
    },
    'name-unknown',
    'error',
    'cache-a',
    /no sentinel that answers monitors/,
    /SENTINEL MONITOR cache-a/,
  ],
  [
    'one sentinel does not know the name',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { address: null, announced: undefined, configEpoch: undefined }),
    'name-unknown-to-some',
    'warning',
    'cache-a',
    /10\.0\.0\.1:26379 does not monitor it/,
    /SENTINEL MONITOR/,
  ],
  [
    'one sentinel names the master of before, by an older epoch',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { address: { host: '10.0.0.1', port: 7002 }, configEpoch: 2 }),
    'sentinels-disagree',
    'warning',
    'cache-a',
    /older epoch/,
    /restart it/,
  ],
  [
    'sentinels name two masters by one epoch',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { address: { host: '10.0.0.1', port: 7002 } }),
    'sentinels-disagree',
    'error',
    'cache-a',
    /no epoch tells/,
    /SENTINEL REMOVE cache-a/,
  ],
  [
    'a sentinel stands at an old epoch',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { configEpoch: 2 }),
    'sentinel-outdated',
    'warning',
    one,
    /epoch 2, others at 3/,
    /hello/,
  ],
  [
    'the quorum cannot be reached',
    (p) =>
      Object.assign(beliefs(p, 'cache-a')[0]!, {
        quorumCheck: 'NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the majority',
      }),
    'quorum-not-reachable',
    'error',
    'cache-a',
    /NOQUORUM 1 usable/,
    /bring the missing sentinels back/,
  ],
  [
    'the quorum is larger than the number of sentinels',
    (p) => {
      for (const b of beliefs(p, 'cache-a')) b.quorum = 4
    },
    'quorum-too-high',
    'error',
    'cache-a',
    /quorum of 4 .* 3 sentinels/,
    /quorum 2/,
  ],
  [
    'the sentinels work with different quorums',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { quorum: 1 }),
    'quorum-differs',
    'warning',
    'cache-a',
    /26379 1, .*26380 2/,
    /same n/,
  ],
  [
    'a sentinel holds the master to be down',
    (p) => beliefs(p, 'cache-a')[0]!.flags.push('s_down'),
    'master-down',
    'error',
    'cache-a',
    /s_down: not agreed yet/,
    /quorum/,
  ],
  [
    'a failover is under way',
    (p) => beliefs(p, 'cache-a')[0]!.flags.push('failover_in_progress'),
    'failover-in-progress',
    'warning',
    'cache-a',
    /at this moment/,
    /wait/,
  ],
  [
    'a dead master would be noticed late',
    (p) => Object.assign(beliefs(p, 'cache-a')[0]!, { downAfterMs: 30_000 }),
    'slow-detection',
    'notice',
    'cache-a',
    /30 s/,
    /down-after-milliseconds/,
  ],
  [
    'the master is reachable for sentinels only',
    (p) => Object.assign(master(p), { error: 'timeout', role: undefined }),
    'address-not-reachable',
    'error',
    'cache-a',
    /another network \(NAT/,
    /addressMap: \{ '10\.0\.0\.1:7001'/,
  ],
  [
    'the master is reachable for nobody',
    (p) => {
      Object.assign(master(p), { error: 'ECONNREFUSED', role: undefined })
      for (const belief of beliefs(p, 'cache-a')) belief.flags.push('s_down')
    },
    'master-unreachable',
    'error',
    'cache-a',
    /ECONNREFUSED/,
    /no failover has replaced it/,
  ],
  [
    'the master wants a password',
    (p) => Object.assign(master(p), { error: 'WRONGPASS invalid username-password pair', role: undefined }),
    'data-refuses-login',
    'error',
    'cache-a',
    /WRONGPASS/,
    /client: \{ username, password \}/,
  ],
  [
    'the certificate of the master is for another name',
    (p) => Object.assign(master(p), { error: 'ERR_TLS_CERT_ALTNAME_INVALID', role: undefined }),
    'data-tls',
    'error',
    'cache-a',
    /ALTNAME/,
    /address that is connected to/,
  ],
  [
    'the master still loads its data',
    (p) => Object.assign(master(p), { role: undefined, notYet: 'LOADING' }),
    'master-not-serving',
    'error',
    'cache-a',
    /LOADING/,
    /wait/,
  ],
  [
    'the named master says it is a replica',
    (p) => Object.assign(master(p), { role: 'slave', follows: { host: '10.0.0.1', port: 7002 } }),
    'role-mismatch',
    'error',
    'cache-a',
    /a slave of 10\.0\.0\.1:7002/,
    /SENTINEL FAILOVER cache-a/,
  ],
  [
    'a second node says master',
    (p) => Object.assign(replica(p), { role: 'master' }),
    'two-masters',
    'error',
    'cache-a',
    /10\.0\.0\.1:7002 says master too/,
    /REPLICAOF/,
  ],
  [
    'the ACL of the master denies ROLE and INFO',
    (p) => master(p).denied.push('ROLE', 'INFO'),
    'data-acl',
    'error',
    'cache-a',
    /cannot prove/,
    /\+role \+info/,
  ],
  [
    'the ACL of the master denies the key of the placement guard',
    (p) => master(p).denied.push('GET sharded-sentinel-pool:placement'),
    'data-acl',
    'warning',
    'cache-a',
    /GET sharded-sentinel-pool:placement/,
    /\+get ~sharded-sentinel-pool:placement/,
  ],
  [
    'there is no replica',
    (p) => void cacheA(p).others.pop(),
    'no-replica',
    'error',
    'cache-a',
    /nobody can take over/,
    /REPLICAOF/,
  ],
  [
    'no replica may be promoted',
    (p) => Object.assign(replica(p), { priority: 0 }),
    'no-promotable-replica',
    'error',
    'cache-a',
    /replica-priority 0/,
    /replica-priority 100/,
  ],
  [
    'one of two replicas is down',
    (p) => cacheA(p).others.push(looseNode(7009, { error: 'ECONNREFUSED' })),
    'replica-down',
    'warning',
    'cache-a',
    /7009 cannot be asked \(ECONNREFUSED\)/,
    /start it/,
  ],
  [
    'a replica has lost its master',
    (p) => Object.assign(replica(p), { link: 'connect' }),
    'replica-link-down',
    'warning',
    'cache-a',
    /no link to its master/,
    /masterauth/,
  ],
  [
    'a replica follows somebody else',
    (p) => Object.assign(replica(p), { follows: { host: '10.0.0.9', port: 7777 } }),
    'replica-link-down',
    'warning',
    'cache-a',
    /follows 10\.0\.0\.9:7777/,
    /within 10 s/,
  ],
  [
    'a replica lags',
    (p) => Object.assign(replica(p), { silentSeconds: 40, lagBytes: 64 * 1024 * 1024 }),
    'replica-lagging',
    'warning',
    'cache-a',
    /40 s .*64 MiB behind/,
    /slow network/,
  ],
  [
    'an isolated master would go on taking writes',
    (p) => Object.assign(master(p), { minReplicasToWrite: 0 }),
    'min-replicas-off',
    'warning',
    'cache-a',
    /min-replicas-to-write is 0/,
    /CONFIG SET min-replicas-to-write 1/,
  ],
  [
    'the master refuses writes, since too few replicas follow',
    (p) => Object.assign(master(p), { minReplicasToWrite: 2 }),
    'min-replicas-unmet',
    'error',
    'cache-a',
    /NOREPLICAS/,
    /bring the replicas back/,
  ],
  [
    'the data was placed by another ring',
    (p) => Object.assign(master(p), { claim: 'other # cache-a' }),
    'placement-mismatch',
    'error',
    'cache-a',
    /"other # cache-a".*"ring # cache-a"/,
    /`plan`/,
  ],
  [
    'nobody has claimed the placement',
    (p) => Object.assign(master(p), { claim: null }),
    'placement-unclaimed',
    'notice',
    'cache-a',
    /go unnoticed/,
    /placementGuard/,
  ],
  [
    'a shard owns far more than its weight is worth',
    (p) => Object.assign(cacheA(p), { share: 0.8 }),
    'share-off',
    'warning',
    'cache-a',
    /80\.0 % .*50\.0 %/,
    /weight/,
  ],
  [
    'the clock of a server is off',
    (p) => Object.assign(replica(p), { clockSkewMs: -61_000 }),
    'clock-skew',
    'warning',
    'cache-a',
    /-61\.0 s/,
    /NTP/,
  ],
]

describe('diagnose', () => {
  it('finds nothing in a healthy topology', () => {
    assert.deepEqual(diagnose(healthy()), [])
  })

  for (const [title, spoil, code, severity, subject, cause, cure] of ROWS) {
    it(`finds that ${title}`, () => {
      const picture = healthy()
      spoil(picture)
      const found = diagnose(picture).find((finding) => finding.code === code)
      assert.ok(found, `no ${code} among ${diagnose(picture).map((f) => f.code)}`)
      assert.equal(found.severity, severity)
      assert.equal(found.subject, subject)
      assert.match(found.cause, cause)
      assert.match(found.cure, cure)
    })
  }

  it('finds one thing where one thing is wrong: no row of the table but those that entail others brings a second error', () => {
    const entailing = new Set<FindingCode>([
      'no-sentinel-answers',
      'role-mismatch',
      'two-masters',
      'master-unreachable',
      'master-down',
      // With its only replica gone a shard has no successor, and min-replicas-to-write is not met.
      'replica-link-down',
      'no-replica',
      'no-promotable-replica',
    ])
    for (const [title, spoil, code] of ROWS) {
      if (entailing.has(code)) continue
      const picture = healthy()
      spoil(picture)
      const errors = diagnose(picture).filter((finding) => finding.severity === 'error' && finding.code !== code)
      assert.deepEqual(errors, [], title)
    }
  })

  it('says nothing of what an ACL hides', () => {
    const picture = healthy()
    for (const sentinel of picture.sentinels) {
      for (const belief of sentinel.beliefs) {
        Object.assign(belief, {
          configEpoch: undefined,
          quorum: undefined,
          quorumCheck: undefined,
          peers: undefined,
          replicas: undefined,
          flags: [],
        })
      }
    }
    for (const { master, others } of picture.shards) {
      for (const one of [master!, ...others]) {
        Object.assign(one, {
          offset: undefined,
          lagBytes: undefined,
          silentSeconds: undefined,
          minReplicasToWrite: undefined,
          clockSkewMs: undefined,
          claim: undefined,
          priority: undefined,
        })
      }
    }
    assert.deepEqual(diagnose(picture), [])
  })

  it('puts the worst first', () => {
    const picture = healthy()
    master(picture).claim = null
    master(picture).minReplicasToWrite = 0
    picture.shards[1]!.master!.claim = 'other'
    assert.deepEqual(
      diagnose(picture).map((finding) => finding.severity),
      ['error', 'warning', 'notice'],
    )
  })

  it('a pool without sentinels is not told to have some', () => {
    const picture = healthy()
    picture.sentinels = []
    assert.deepEqual(diagnose(picture), [])
  })
})

describe('verdict', () => {
  const finding = (severity: Severity): Finding => ({ code: 'share-off', severity, subject: 'x', cause: '', cure: '' })
  it('is the worst finding', () => {
    assert.equal(verdictOf([]), 'healthy')
    assert.equal(verdictOf([finding('notice')]), 'healthy')
    assert.equal(verdictOf([finding('notice'), finding('warning')]), 'at-risk')
    assert.equal(verdictOf([finding('warning'), finding('error')]), 'failing')
  })
})
