import { isIP } from 'node:net'
import { type Address, sameAddress } from '../address.js'
import { Deadline } from '../async/deadline.js'
import type { InstanceInfo } from './replies.js'
import { askRole, type ProofSettings } from './verify.js'

export interface ReplicaSettings extends ProofSettings {
  /** For the master that a replica names by itself; `instances` are mapped already. */
  readonly mapAddress: (address: Address) => Address
}

const unusable = ['s_down', 'o_down', 'disconnected', 'master_down'] as const

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
  const proofs = await Promise.all(addresses.map((address) => followsMaster(address, settings)))
  settings.signal?.throwIfAborted()
  return addresses.filter((_, i) => proofs[i])
}

export function looksUsable({ flags, masterLinkStatus }: InstanceInfo): boolean {
  return !unusable.some((flag) => flags.has(flag)) && (masterLinkStatus === undefined || masterLinkStatus === 'ok')
}

async function followsMaster(address: Address, settings: ReplicaSettings): Promise<boolean> {
  const deadline = new Deadline(settings.timeoutMs)
  try {
    const connection = await settings.factory.open(address, {
      timeoutMs: Math.max(1, deadline.remainingMs),
      name: settings.connectionName,
      signal: settings.signal,
    })
    try {
      const role = await askRole(connection, Math.max(1, deadline.remainingMs), settings.signal)
      if (role.role !== 'slave' || role.link !== 'connected') return false
      // One that still follows the master of before serves what will be thrown away.
      return role.master === undefined || maybeSame(settings.mapAddress(role.master), settings.address)
    } finally {
      connection.destroy()
    }
  } catch {
    return false
  }
}

/** A replica may know its master by another spelling (a name, where sentinels say an IP): then only the port can differ. */
function maybeSame(a: Address, b: Address): boolean {
  return sameAddress(a, b) || (a.port === b.port && (isIP(a.host) === 0 || isIP(b.host) === 0))
}
