import { sameAddress } from '../../address.js'
import { at, type Finding } from '../finding.js'
import type { NodeReport, ShardReport, TopologyPicture } from '../picture.js'
import { accessTrouble } from './masters.js'

/** Who would take over, and with how much of the data. */
export function replicaFindings({ shards, sentinels }: TopologyPicture): readonly Finding[] {
  return shards.flatMap((shard) => {
    if (shard.master === undefined) return []
    const replicas = shard.others.filter((node) => node.role !== 'master')
    const watched = sentinels.length > 0
    return [
      ...(watched ? successor(shard, replicas) : []),
      ...replicas.flatMap((replica) => health(shard, shard.master!, replica)),
      ...writeGuard(shard, shard.master, replicas),
    ]
  })
}

const usable = (node: NodeReport) => node.error === undefined && node.link === 'connected' && node.priority !== 0

function successor({ name }: ShardReport, replicas: readonly NodeReport[]): Finding[] {
  if (replicas.some(usable)) return []
  if (replicas.length === 0) {
    return [
      {
        code: 'no-replica',
        severity: 'error',
        subject: name,
        cause: 'the sentinels know no replica: when the master dies nobody can take over',
        cure: 'add one: REPLICAOF <master ip> <port> on another server; sentinels find it by themselves within 10 s',
      },
    ]
  }
  const never = replicas.filter((node) => node.error === undefined && node.priority === 0)
  return [
    {
      code: 'no-promotable-replica',
      severity: 'error',
      subject: name,
      cause:
        never.length > 0
          ? `no replica may be promoted: ${never.map((node) => at(node.address)).join(', ')} has replica-priority 0`
          : 'none of its replicas could take over now: see below',
      cure: never.length > 0 ? 'CONFIG SET replica-priority 100 on at least one of them' : 'bring one back',
    },
  ]
}

/** More than this is no jitter of two servers asked one after another. */
const LAG_SECONDS = 10
const LAG_BYTES = 16 * 1024 * 1024

function health({ name }: ShardReport, master: NodeReport, replica: NodeReport): Finding[] {
  const where = at(replica.address)
  if (replica.error !== undefined) {
    return [
      accessTrouble(name, replica) ?? {
        code: 'replica-down',
        severity: 'warning',
        subject: name,
        cause: `the replica ${where} cannot be asked (${replica.error}): it cannot take over, or not be reached from here when it does`,
        cure: `start it; if it is up and only this machine cannot reach it, map its address by \`addressMap: { '${at(replica.announced)}': … }\``,
      },
    ]
  }
  if (replica.role !== 'slave') return []
  if (replica.follows && !sameHost(replica.follows, master) && replica.link === 'connected') {
    return [
      {
        code: 'replica-link-down',
        severity: 'warning',
        subject: name,
        cause: `the replica ${where} follows ${at(replica.follows)} and not the master ${at(master.address)}`,
        cure: 'right after a failover sentinels turn it round within 10 s; a chain of replicas is fine only if you mean it',
      },
    ]
  }
  if (replica.link !== 'connected') {
    return [
      {
        code: 'replica-link-down',
        severity: 'warning',
        subject: name,
        cause: `the replica ${where} has no link to its master (${replica.link ?? 'unknown'}): what is written now would be lost in a failover`,
        cure: 'look at its log; masterauth / masteruser, TLS and the replication backlog (repl-backlog-size) are the usual reasons',
      },
    ]
  }
  const behind = [
    (replica.silentSeconds ?? 0) > LAG_SECONDS ? `${replica.silentSeconds} s since it last heard of it` : undefined,
    (replica.lagBytes ?? 0) > LAG_BYTES ? `${Math.round(replica.lagBytes! / 1024 / 1024)} MiB behind` : undefined,
  ].filter((text) => text !== undefined)
  if (behind.length === 0) return []
  return [
    {
      code: 'replica-lagging',
      severity: 'warning',
      subject: name,
      cause: `the replica ${where} lags behind its master (${behind.join(', ')}): a failover would lose that much`,
      cure: 'look for a slow network, a slow disk, or too much written for one replica; `withReplicaAck` makes single writes wait for it',
    },
  ]
}

/** Hosts may be spelt in several ways, so that only the port is sure to differ. */
function sameHost(address: { host: string; port: number }, master: NodeReport): boolean {
  return (
    sameAddress(address, master.address) ||
    address.port === master.announced.port ||
    address.port === master.address.port
  )
}

function writeGuard({ name }: ShardReport, master: NodeReport, replicas: readonly NodeReport[]): Finding[] {
  const min = master.minReplicasToWrite
  if (min === undefined || replicas.length === 0) return []
  if (min === 0) {
    return [
      {
        code: 'min-replicas-off',
        severity: 'warning',
        subject: name,
        cause: `min-replicas-to-write is 0 on ${at(master.address)}: a master that is cut off goes on taking writes, which are lost when it comes back as a replica`,
        cure: 'CONFIG SET min-replicas-to-write 1 and min-replicas-max-lag 10 on every node of the shard, and CONFIG REWRITE',
      },
    ]
  }
  const fresh = replicas.filter((node) => node.link === 'connected').length
  if (fresh >= min) return []
  return [
    {
      code: 'min-replicas-unmet',
      severity: 'error',
      subject: name,
      cause: `min-replicas-to-write is ${min} on ${at(master.address)} and ${fresh} ${fresh === 1 ? 'replica follows' : 'replicas follow'}: writes are refused (NOREPLICAS)`,
      cure: 'bring the replicas back; lower min-replicas-to-write only for as long as it takes',
    },
  ]
}
