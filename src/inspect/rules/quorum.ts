import { type Address, sameAddress } from '../../address.js'
import { at, type Finding, list } from '../finding.js'
import type { MasterBelief, SentinelReport, ShardReport, TopologyPicture } from '../picture.js'

interface Voice {
  readonly sentinel: SentinelReport
  readonly belief: MasterBelief
}

/** What the sentinels say of each master: known to all, one address, one epoch, and votes enough to act. */
export function quorumFindings({ sentinels, shards }: TopologyPicture): readonly Finding[] {
  return shards.flatMap((shard) => {
    const voices = sentinels.flatMap((sentinel): Voice[] =>
      sentinel.beliefs.filter((belief) => belief.masterName === shard.name).map((belief) => ({ sentinel, belief })),
    )
    if (voices.length === 0) return []
    return [
      ...unknownName(shard, voices),
      ...disagreement(shard, voices),
      ...outdated(shard, voices),
      ...quorum(shard, voices, sentinels.length),
      ...state(shard, voices),
      ...detection(shard, voices),
    ]
  })
}

const places = (voices: readonly Voice[]): readonly Address[] => voices.map(({ sentinel }) => sentinel.address)

function unknownName(shard: ShardReport, voices: readonly Voice[]): Finding[] {
  const without = voices.filter(({ belief }) => belief.address === null)
  if (without.length === 0) return []
  if (without.length === voices.length) {
    return [
      {
        code: 'name-unknown',
        severity: 'error',
        subject: shard.name,
        cause: `no sentinel that answers monitors a master of this name (asked: ${list(places(without))})`,
        cure: `correct the name in \`masters\` (names are exact, case included), or SENTINEL MONITOR ${shard.name} <ip> <port> <quorum> on every sentinel`,
      },
    ]
  }
  return [
    {
      code: 'name-unknown-to-some',
      severity: 'warning',
      subject: shard.name,
      cause: `${list(places(without))} does not monitor it, so its vote and its eyes are missing`,
      cure: `SENTINEL MONITOR ${shard.name} <ip> <port> <quorum> there, with the same auth-pass and time-outs as on the others`,
    },
  ]
}

function disagreement(shard: ShardReport, voices: readonly Voice[]): Finding[] {
  const named = voices.filter(({ belief }) => belief.address)
  const master = shard.master?.address
  if (master === undefined) return []
  const best = Math.max(...named.map(({ belief }) => belief.configEpoch ?? -1))
  const against = named.filter(({ belief }) => !sameAddress(belief.address!, master))
  if (against.length === 0) return []
  const older = against.every(({ belief }) => belief.configEpoch !== undefined && belief.configEpoch < best)
  const says = against.map(({ sentinel, belief }) => `${at(sentinel.address)} says ${at(belief.address!)}`).join('; ')
  return [
    {
      code: 'sentinels-disagree',
      severity: older ? 'warning' : 'error',
      subject: shard.name,
      cause: older
        ? `${says}, by an older epoch than the one that names ${at(master)}: clients that ask there first are sent to the wrong node`
        : `${says}, others ${at(master)}, and no epoch tells who is right: two groups may share one name`,
      cure: older
        ? 'see that this sentinel reaches the master and its peers (network, auth-pass); restart it if it does not follow within a minute'
        : `take the master out of the wrong sentinels by SENTINEL REMOVE ${shard.name}, and monitor it there anew`,
    },
  ]
}

function outdated(shard: ShardReport, voices: readonly Voice[]): Finding[] {
  const known = voices.filter(({ belief }) => belief.configEpoch !== undefined)
  const best = Math.max(...known.map(({ belief }) => belief.configEpoch!))
  return known
    .filter(({ belief }) => belief.configEpoch! < best)
    .map(({ sentinel, belief }) => ({
      code: 'sentinel-outdated',
      severity: 'warning',
      subject: at(sentinel.address),
      cause: `for ${shard.name} it stands at epoch ${belief.configEpoch}, others at ${best}: it has missed a failover`,
      cure: 'see that it reaches the master and the other sentinels; it learns the newer configuration from their hello messages within seconds then',
    }))
}

function quorum(shard: ShardReport, voices: readonly Voice[], sentinels: number): Finding[] {
  const monitored = voices.filter(({ belief }) => belief.address)
  const quorums = [...new Set(monitored.flatMap(({ belief }) => belief.quorum ?? []))]
  const findings: Finding[] = []
  if (quorums.length > 1) {
    findings.push({
      code: 'quorum-differs',
      severity: 'warning',
      subject: shard.name,
      cause: `the sentinels work with different quorums: ${monitored.map(({ sentinel, belief }) => `${at(sentinel.address)} ${belief.quorum}`).join(', ')}`,
      cure: `SENTINEL SET ${shard.name} quorum <n> with the same n on all`,
    })
  }
  if (quorums.some((one) => one > sentinels)) {
    findings.push({
      code: 'quorum-too-high',
      severity: 'error',
      subject: shard.name,
      cause: `a quorum of ${Math.max(...quorums)} can never be met by ${sentinels} sentinels: no failover will ever start`,
      cure: `SENTINEL SET ${shard.name} quorum ${Math.floor(sentinels / 2) + 1} on every sentinel, or run more of them`,
    })
  }
  const refused = monitored.filter(
    ({ belief }) => belief.quorumCheck !== undefined && !belief.quorumCheck.startsWith('OK'),
  )
  if (refused.length > 0) {
    findings.push({
      code: 'quorum-not-reachable',
      severity: 'error',
      subject: shard.name,
      cause: `CKQUORUM on ${list(places(refused))}: ${refused[0]!.belief.quorumCheck}. A dead master would stay dead`,
      cure: 'bring the missing sentinels back and see that they reach each other; lower the quorum only if the machines are gone for good',
    })
  }
  return findings
}

function state(shard: ShardReport, voices: readonly Voice[]): Finding[] {
  const flagged = (flag: string) => voices.filter(({ belief }) => belief.flags.includes(flag))
  const findings: Finding[] = []
  const down = voices.filter(({ belief }) => belief.flags.includes('o_down') || belief.flags.includes('s_down'))
  if (down.length > 0) {
    findings.push({
      code: 'master-down',
      severity: 'error',
      subject: shard.name,
      cause: `${list(places(down))} ${down.length === 1 ? 'holds' : 'hold'} the master to be down${flagged('o_down').length > 0 ? ' (o_down: the quorum agrees)' : ' (s_down: not agreed yet)'}`,
      cure: 'start the master, or let the failover take place; if it does not begin within the failover-timeout, look at the quorum and the replicas below',
    })
  }
  const going = flagged('failover_in_progress')
  if (going.length > 0) {
    findings.push({
      code: 'failover-in-progress',
      severity: 'warning',
      subject: shard.name,
      cause: `${list(places(going))} is failing it over at this moment`,
      cure: 'wait for it to end and look again',
    })
  }
  return findings
}

/** Ten seconds: the longest that calls of a pool with stock settings wait by far outlast. */
const SLOW_MS = 10_000

function detection(shard: ShardReport, voices: readonly Voice[]): Finding[] {
  const slowest = Math.max(0, ...voices.map(({ belief }) => belief.downAfterMs ?? 0))
  if (slowest <= SLOW_MS) return []
  return [
    {
      code: 'slow-detection',
      severity: 'notice',
      subject: shard.name,
      cause: `a dead master is noticed only after ${slowest / 1000} s (down-after-milliseconds), longer than calls wait by default (commandTimeoutMs, 5 s)`,
      cure: `SENTINEL SET ${shard.name} down-after-milliseconds 5000 on every sentinel, if the network is steady enough for it`,
    },
  ]
}
