import { isIP } from 'node:net'
import { type Address, sameAddress } from '../address.js'
import { Deadline } from '../async/deadline.js'
import type { InstanceInfo, Role } from './replies.js'
import { askRole, type ProofSettings } from './verify.js'

export interface ReplicaSettings extends ProofSettings {
  /** For the master that a replica names by itself; `instances` are mapped already. */
  readonly mapAddress: (address: Address) => Address
}

const unusable = ['s_down', 'o_down', 'disconnected', 'master_down'] as const

/** A replica that is behind by more of the replication stream than this, in bytes, lags: it is left out until it has caught up. */
const MAX_LAG_BYTES = 1024 * 1024
/** The master is asked how far the stream is, but a dead one is not waited for longer, in ms: reads go on without it. */
const MASTER_MS = 200

/**
 * The replicas that serve fresh data of the master at `settings.address`: what sentinels say leaves the doubtful ones out,
 * and ROLE must prove the rest. All are asked at once; one that cannot be asked in time is left out.
 */
export async function usableReplicas(
  instances: readonly InstanceInfo[],
  settings: ReplicaSettings,
): Promise<readonly Address[]> {
  const addresses: Address[] = []
  for (const instance of instances) {
    const { address } = instance
    if (sameAddress(address, settings.address) || addresses.some((a) => sameAddress(a, address))) continue
    if (looksUsable(instance)) addresses.push(address)
  }
  if (addresses.length === 0) return []
  const timeoutMs = Math.min(MASTER_MS, settings.timeoutMs)
  const [master, ...roles] = await Promise.all([
    roleAt(settings.address, { ...settings, timeoutMs }),
    ...addresses.map((address) => roleAt(address, settings)),
  ])
  settings.signal?.throwIfAborted()
  const followers = addresses.flatMap((address, i) => {
    const role = roles[i]
    return role?.role === 'slave' && followsMaster(role, settings) ? [{ address, offset: role.offset }] : []
  })
  const offsets = followers.map(({ offset }) => offset ?? 0)
  if (master?.role === 'master') offsets.push(master.offset ?? 0)
  const furthest = Math.max(...offsets)
  return followers
    .filter(({ offset }) => offset === undefined || furthest - offset <= MAX_LAG_BYTES)
    .map(({ address }) => address)
}

export function looksUsable({ flags, masterLinkStatus }: InstanceInfo): boolean {
  return !unusable.some((flag) => flags.has(flag)) && (masterLinkStatus === undefined || masterLinkStatus === 'ok')
}

/** What the node there says it is; undefined where it cannot be asked. */
async function roleAt(address: Address, settings: ReplicaSettings) {
  const deadline = new Deadline(settings.timeoutMs)
  try {
    const connection = await settings.factory.open(address, {
      timeoutMs: Math.max(1, deadline.remainingMs),
      name: settings.connectionName,
      signal: settings.signal,
    })
    try {
      return await askRole(connection, Math.max(1, deadline.remainingMs), settings.signal)
    } finally {
      connection.destroy()
    }
  } catch {
    return undefined
  }
}

/** One that still follows the master of before serves what will be thrown away. */
function followsMaster(role: Extract<Role, { role: 'slave' }>, settings: ReplicaSettings): boolean {
  if (role.link !== 'connected') return false
  return role.master === undefined || maybeSame(settings.mapAddress(role.master), settings.address)
}

/** A replica may know its master by another spelling (a name, where sentinels say an IP): then only the port can differ. */
function maybeSame(a: Address, b: Address): boolean {
  return sameAddress(a, b) || (a.port === b.port && (isIP(a.host) === 0 || isIP(b.host) === 0))
}
