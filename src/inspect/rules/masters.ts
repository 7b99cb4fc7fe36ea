import { describeTlsFailure, kindOfFailure } from '../failure-kind.js'
import { at, type Finding, list } from '../finding.js'
import type { NodeReport, ShardReport, TopologyPicture } from '../picture.js'

/** Each master as it is itself: reachable from here, serving, the only one, and open to this user. */
export function masterFindings(picture: TopologyPicture): readonly Finding[] {
  return picture.shards.flatMap((shard) => {
    const { master } = shard
    return [
      ...(master === undefined
        ? []
        : master.error === undefined
          ? role(shard, master)
          : unreachable(picture, shard, master)),
      ...rivals(shard),
      ...(master === undefined ? [] : denied(shard, master)),
    ]
  })
}

function unreachable({ sentinels }: TopologyPicture, shard: ShardReport, master: NodeReport): Finding[] {
  const finding = accessTrouble(shard.name, master)
  if (finding !== undefined) return [finding]
  const node = at(master.address)
  const mapped = at(master.announced) === node ? '' : ` (announced as ${at(master.announced)})`
  const seenUp = sentinels.filter(({ beliefs }) =>
    beliefs.some(
      ({ masterName, flags }) =>
        masterName === shard.name && flags.length > 0 && !flags.some((f) => f.endsWith('_down')),
    ),
  )
  if (seenUp.length > 0) {
    return [
      {
        code: 'address-not-reachable',
        severity: 'error',
        subject: shard.name,
        cause: `the master ${node}${mapped} cannot be reached from here (${master.error}), while ${list(seenUp.map((s) => s.address))} ${seenUp.length === 1 ? 'sees' : 'see'} it up: its announced address is for another network (NAT, containers), or a firewall is between`,
        cure: `map it by \`addressMap: { '${at(master.announced)}': '<address reachable from here>' }\`, or have it announce such an address (replica-announce-ip, replica-announce-port)`,
      },
    ]
  }
  return [
    {
      code: 'master-unreachable',
      severity: 'error',
      subject: shard.name,
      cause: `the master ${node}${mapped} cannot be reached: ${master.error}`,
      cure: 'start it, or find out why no failover has replaced it',
    },
  ]
}

/** Login and TLS, which are the client's options rather than the server's trouble. */
export function accessTrouble(subject: string, node: NodeReport): Finding | undefined {
  const where = at(node.address)
  switch (kindOfFailure(node.error ?? '')) {
    case 'login':
      return {
        code: 'data-refuses-login',
        severity: 'error',
        subject,
        cause: `${where} does not let us in: ${node.error}`,
        cure: 'give `client: { username, password }`; for a user of its own: ACL SETUSER <user> on ><password> ~* &* +@all -@admin -@dangerous +info +role',
      }
    case 'tls':
      return {
        code: 'data-tls',
        severity: 'error',
        subject,
        cause: describeTlsFailure(where, node.error ?? ''),
        cure: 'give `client: { socket: { tls: true, ca } }` where it speaks TLS, and none where it does not; the certificate must be for the address that is connected to (announce host names, or list the IPs in it)',
      }
    default:
      return undefined
  }
}

function role(shard: ShardReport, master: NodeReport): Finding[] {
  const where = at(master.address)
  if (master.notYet !== undefined) {
    return [
      {
        code: 'master-not-serving',
        severity: 'error',
        subject: shard.name,
        cause: `the master ${where} answers ${master.notYet}: it serves nothing yet`,
        cure: master.notYet === 'LOADING' ? 'wait until it has loaded its data' : 'look at its log',
      },
    ]
  }
  if (master.role === undefined || master.role === 'master') return []
  return [
    {
      code: 'role-mismatch',
      severity: 'error',
      subject: shard.name,
      cause: `sentinels name ${where} as the master, and it says it is a ${master.role}${master.follows ? ` of ${at(master.follows)}` : ''}: the pool will not use it`,
      cure: `wait for the failover under way; if there is none, SENTINEL FAILOVER ${shard.name}, or REPLICAOF NO ONE on the node that holds the latest data`,
    },
  ]
}

function rivals({ name, master, others }: ShardReport): Finding[] {
  const rival = others.filter((node) => node.role === 'master')
  if (rival.length === 0) return []
  return [
    {
      code: 'two-masters',
      severity: 'error',
      subject: name,
      cause: `${list(rival.map((node) => node.address))} ${rival.length === 1 ? 'says' : 'say'} master too, besides ${master ? at(master.address) : 'nobody'}: what is written there will be lost`,
      cure: 'within 10 s of a failover this is normal; else REPLICAOF <master ip> <port> on it, and min-replicas-to-write 1 keeps an isolated master from taking writes',
    },
  ]
}

/** Asked for by doctor alone; the pool never needs them. */
const OPTIONAL = ['TIME', 'CONFIG GET', 'DBSIZE']

function denied({ name }: ShardReport, { address, denied: commands }: NodeReport): Finding[] {
  const missing = commands.filter((command) => !OPTIONAL.includes(command))
  if (missing.length === 0) return []
  const unprovable = missing.includes('ROLE') && missing.includes('INFO')
  const why = unprovable
    ? 'without ROLE or INFO the pool cannot prove that a node is a master, and refuses it'
    : 'the pool does without, less surely'
  return [
    {
      code: 'data-acl',
      severity: unprovable || missing.includes('PING') ? 'error' : 'warning',
      subject: name,
      cause: `on ${at(address)} this user may not: ${missing.join(', ')}; ${why}`,
      cure: `ACL SETUSER <user> ${missing.map(rule).join(' ')}`,
    },
  ]
}

function rule(command: string): string {
  const [first, key] = command.split(' ')
  return key === undefined ? `+${first!.toLowerCase()}` : `+${first!.toLowerCase()} ~${key}`
}
