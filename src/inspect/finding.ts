import { type Address, formatAddress } from '../address.js'

/** `error`: a failover would fail, or calls fail now. `warning`: it would be slow or lose data. `notice`: worth knowing. */
export type Severity = 'error' | 'warning' | 'notice'

/** What can be found, by a name that stays the same within a major version. */
export type FindingCode =
  | 'no-sentinel-answers'
  | 'sentinel-unreachable'
  | 'sentinel-refuses-login'
  | 'sentinel-tls'
  | 'too-few-sentinels'
  | 'sentinel-in-tilt'
  | 'sentinel-outdated'
  | 'sentinel-isolated'
  | 'sentinel-ghost'
  | 'sentinels-disagree'
  | 'sentinel-acl'
  | 'name-unknown'
  | 'name-unknown-to-some'
  | 'quorum-not-reachable'
  | 'quorum-too-high'
  | 'quorum-differs'
  | 'slow-detection'
  | 'failover-in-progress'
  | 'master-down'
  | 'master-unreachable'
  | 'address-not-reachable'
  | 'master-not-serving'
  | 'role-mismatch'
  | 'two-masters'
  | 'data-refuses-login'
  | 'data-tls'
  | 'data-acl'
  | 'no-replica'
  | 'no-promotable-replica'
  | 'replica-down'
  | 'replica-link-down'
  | 'replica-lagging'
  | 'min-replicas-off'
  | 'min-replicas-unmet'
  | 'placement-mismatch'
  | 'placement-unclaimed'
  | 'share-off'
  | 'clock-skew'

/** One thing that is wrong, why, and what makes it right. */
export interface Finding {
  readonly code: FindingCode
  readonly severity: Severity
  /** The shard, or the server (`host:port`), that it is about; `sentinels` for all of them. */
  readonly subject: string
  /** What was seen, and what comes of it. */
  readonly cause: string
  /** What to do, with the very command or option where there is one. */
  readonly cure: string
}

export const at = (address: Address): string => formatAddress(address)

export const list = (addresses: readonly Address[]): string => addresses.map(formatAddress).join(', ')
