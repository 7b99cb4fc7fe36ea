import { sameAddress } from '../../address.js'
import { describeTlsFailure, kindOfFailure } from '../failure-kind.js'
import { at, type Finding, list } from '../finding.js'
import type { SentinelReport, TopologyPicture } from '../picture.js'

/** The sentinels themselves: reachable, enough of them, awake, knowing each other. */
export function sentinelFindings({ sentinels }: TopologyPicture): readonly Finding[] {
  if (sentinels.length === 0) return []
  const up = sentinels.filter((sentinel) => sentinel.error === undefined)
  return [
    ...noneAnswers(sentinels, up),
    ...sentinels.flatMap(unreachable),
    ...tooFew(sentinels),
    ...up.flatMap(inTilt),
    ...up.flatMap((sentinel) => isolated(sentinel, up)),
    ...ghosts(up),
    ...up.flatMap(denied),
  ]
}

function noneAnswers(sentinels: readonly SentinelReport[], up: readonly SentinelReport[]): Finding[] {
  if (up.length > 0) return []
  return [
    {
      code: 'no-sentinel-answers',
      severity: 'error',
      subject: 'sentinels',
      cause: `none of ${list(sentinels.map((s) => s.address))} could be asked: a pool cannot connect, and a failover stays unseen`,
      cure: 'check the addresses, the network and the firewall between here and the sentinels; each one is named below',
    },
  ]
}

function unreachable({ address, error, seed }: SentinelReport): Finding[] {
  if (error === undefined) return []
  const subject = at(address)
  const told = seed ? 'a seed of the options' : 'told of by another sentinel'
  switch (kindOfFailure(error)) {
    case 'login':
      return [
        {
          code: 'sentinel-refuses-login',
          severity: 'error',
          subject,
          cause: `the sentinel (${told}) does not let us in: ${error}`,
          cure: 'give `sentinelClient: { username, password }`; credentials of `client` are never sent to sentinels',
        },
      ]
    case 'tls':
      return [
        {
          code: 'sentinel-tls',
          severity: 'error',
          subject,
          cause: describeTlsFailure(`the sentinel (${told})`, error),
          cure: 'give `sentinelClient: { socket: { tls: true, ca } }` where it speaks TLS, and none where it does not; the certificate must be for the very name or address that is connected to',
        },
      ]
    default:
      return [
        {
          code: 'sentinel-unreachable',
          severity: 'warning',
          subject,
          cause: `the sentinel (${told}) cannot be asked: ${error}`,
          cure: seed
            ? 'start it, or take it out of `sentinels`; where it runs but speaks TLS only, set `sentinelClient.socket.tls`'
            : 'map its announced address by `addressMap` if it lies behind NAT or in a container; else start it, or have the others forget it by SENTINEL RESET',
        },
      ]
  }
}

function tooFew(sentinels: readonly SentinelReport[]): Finding[] {
  if (sentinels.length >= 3) return []
  return [
    {
      code: 'too-few-sentinels',
      severity: 'warning',
      subject: 'sentinels',
      cause: `there ${sentinels.length === 1 ? 'is 1 sentinel' : 'are 2 sentinels'}: with one of them gone, no majority is left to vote for a failover`,
      cure: 'run at least three, on machines that fail independently',
    },
  ]
}

function inTilt({ address, tilt }: SentinelReport): Finding[] {
  if (tilt !== true) return []
  return [
    {
      code: 'sentinel-in-tilt',
      severity: 'error',
      subject: at(address),
      cause: 'it is in TILT: its clock jumped or its process stood still, and it takes no part in failovers now',
      cure: 'steady its clock (NTP that slews, no suspended VM); TILT ends by itself after 30 quiet seconds',
    },
  ]
}

function isolated(sentinel: SentinelReport, up: readonly SentinelReport[]): Finding[] {
  const missing = up.filter(
    (other) =>
      other !== sentinel &&
      sentinel.beliefs.some(
        ({ peers }) =>
          peers !== undefined &&
          other.beliefs.length > 0 &&
          !peers.some((peer) => peer.runId === other.runId || sameAddress(peer.address, other.announced)),
      ) &&
      sharesAName(sentinel, other),
  )
  if (missing.length === 0) return []
  return [
    {
      code: 'sentinel-isolated',
      severity: 'warning',
      subject: at(sentinel.address),
      cause: `it does not know ${list(missing.map((one) => one.address))}, so their votes do not count together`,
      cure: 'sentinels find each other through the master: check that both monitor the same master, may PUBLISH to __sentinel__:hello there, and run under different ids (`sentinel myid`)',
    },
  ]
}

function sharesAName(a: SentinelReport, b: SentinelReport): boolean {
  return a.beliefs.some(
    ({ masterName, address }) => address && b.beliefs.some((other) => other.masterName === masterName && other.address),
  )
}

/** Peers that every sentinel still counts and nobody can reach: each raises the majority that is needed. */
function ghosts(up: readonly SentinelReport[]): Finding[] {
  const found = new Map<string, { name: string; knownTo: number }>()
  for (const { masterName, peers } of up.flatMap((sentinel) => sentinel.beliefs)) {
    for (const peer of peers ?? []) {
      if (!peer.flags.includes('s_down') && !peer.flags.includes('disconnected')) continue
      const key = at(peer.address)
      const entry = found.get(key) ?? { name: masterName, knownTo: 0 }
      found.set(key, { ...entry, knownTo: entry.knownTo + 1 })
    }
  }
  return [...found].map(([subject, { name }]) => ({
    code: 'sentinel-ghost',
    severity: 'warning',
    subject,
    cause: 'the other sentinels count this one and hold it to be down: the majority they need is reckoned with it',
    cure: `start it again; if it is gone for good, SENTINEL RESET ${name} on each sentinel, one after another, 30 s apart`,
  }))
}

const NEEDED = /^SENTINEL GET-MASTER-ADDR-BY-NAME$/

function denied({ address, denied: commands }: SentinelReport): Finding[] {
  // PING is what the heartbeat asks; a denial is an answer too. CKQUORUM is only asked here.
  const missing = commands.filter((command) => command !== 'PING' && command !== 'SENTINEL CKQUORUM')
  if (missing.length === 0) return []
  const needed = missing.some((command) => NEEDED.test(command))
  return [
    {
      code: 'sentinel-acl',
      severity: needed ? 'error' : missing.some((command) => command.startsWith('SUBSCRIBE')) ? 'warning' : 'notice',
      subject: at(address),
      cause: `this user may not: ${missing.join(', ')}${needed ? '; without it no master can be found' : '; the pool does without, less surely or later'}`,
      cure: `ACL SETUSER <user> ${missing.map(rule).join(' ')}`,
    },
  ]
}

function rule(command: string): string {
  const [first, second] = command.toLowerCase().split(' ')
  if (first === 'subscribe') return `+subscribe &${second} &+sdown &-sdown &+selected-slave`
  return second === undefined ? `+${first}` : `+${first}|${second}`
}
