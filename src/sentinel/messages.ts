import type { Address } from '../address.js'
import { readInstanceMessage, readSwitchMessage } from './replies.js'

/**
 * PURE: what a message of a sentinel means for us.
 */

/** Where a failover stands. The order of a good one: started, selecting, selected, promoting, promoted, (switch), ended. */
export type FailoverPhase = 'started' | 'selecting' | 'selected' | 'promoting' | 'promoted' | 'ended' | 'aborted'

const phases: ReadonlyMap<string, FailoverPhase> = new Map([
  ['+try-failover', 'started'],
  ['+failover-state-select-slave', 'selecting'],
  ['+selected-slave', 'selected'],
  ['+failover-state-send-slaveof-noone', 'promoting'],
  ['+promoted-slave', 'promoted'],
  ['+failover-end', 'ended'],
  ['+failover-end-for-timeout', 'ended'],
  ['-failover-abort-not-elected', 'aborted'],
  ['-failover-abort-no-good-slave', 'aborted'],
  ['-failover-abort-slave-timeout', 'aborted'],
])

const switchChannel = '+switch-master'

/** The configuration of a master was changed from outside, so all that was known of it is in doubt. */
const resetChannels: ReadonlySet<string> = new Set(['+monitor', '-monitor', '+reset-master', '+set'])

const otherChannels = [
  '+sdown',
  '-sdown',
  '+odown',
  '-odown',
  '+elected-leader',
  '+config-update-from',
  '+slave',
  '+convert-to-slave',
  '+slave-reconf-done',
  '+fix-slave-config',
  '+reboot',
  '+sentinel',
  '+tilt',
  '-tilt',
] as const

/** Every channel the watcher listens to, by name: what it does not use, it does not ask for. */
export const channels: readonly string[] = [switchChannel, ...phases.keys(), ...resetChannels, ...otherChannels]

/** The least that is worth a subscription, where an ACL denies the rest. */
export const leastChannels: readonly string[] = [switchChannel]

/** Addresses are as the sentinel said them, unmapped. */
export type News =
  | { readonly kind: 'switch'; readonly masterName: string; readonly from: Address; readonly to: Address }
  | {
      readonly kind: 'progress'
      readonly masterName: string
      readonly phase: FailoverPhase
      /** The node to become master, where the message names one. */
      readonly candidate: Address | undefined
      /** The master that fails over. */
      readonly replaces: Address
    }
  | { readonly kind: 'reset'; readonly masterName: string }
  | { readonly kind: 'peer'; readonly masterName: string; readonly address: Address; readonly runId: string }
  /** About the sentinel itself or a node of a master; nothing to act on. */
  | { readonly kind: 'other'; readonly masterName: string | undefined }

/** What the message says, or undefined where it makes no sense. */
export function readNews(channel: string, message: string): News | undefined {
  if (channel === switchChannel) {
    const said = readSwitchMessage(message)
    return said && { kind: 'switch', ...said }
  }
  if (channel === '+tilt' || channel === '-tilt') return { kind: 'other', masterName: undefined }
  const said = readInstanceMessage(message)
  if (said === undefined) return undefined
  const { masterName, masterAddress, type, address, name } = said
  const phase = phases.get(channel)
  if (phase !== undefined) {
    const candidate = type === 'master' ? undefined : address
    return { kind: 'progress', masterName, phase, candidate, replaces: masterAddress }
  }
  if (resetChannels.has(channel)) return { kind: 'reset', masterName }
  if (channel === '+sentinel' && type === 'sentinel') return { kind: 'peer', masterName, address, runId: name }
  return { kind: 'other', masterName }
}
