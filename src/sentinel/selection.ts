import { type Address, sameAddress } from '../address.js'
import type { FailoverView, SentinelPanel } from './panel.js'
import type { FollowRequest } from './source.js'

/** What the sentinels say of a node that a message named as the next master. */
export interface Selection {
  /** Undefined where it cannot be seen: denied, or not all of them could be asked. */
  readonly answer: boolean | undefined
  /** It is the master by now, says one of them. */
  readonly named: boolean
  /** Of the configuration that the failover ends. */
  readonly epoch: number | undefined
}

export const UNSEEN: Selection = { answer: undefined, named: false, epoch: undefined }

/** A selected node becomes master within this, in ms. What was said of it longer ago may have been another failover's. */
export const selectionGoodMs = 300

/** Between two questions about a node that says master and was never seen to become one, in ms. */
export const doubtMs = 30

/**
 * Do the sentinels themselves say that a failover goes on and that the candidate belongs to the group, or that it is the
 * master by now? `knownEpoch` is that of the master verified last.
 */
export async function askSelection(
  panel: SentinelPanel,
  masterName: string,
  candidate: Address,
  knownEpoch: number | undefined,
  request: FollowRequest,
): Promise<Selection> {
  const names = ({ named }: FailoverView) => named !== undefined && sameAddress(named, candidate)
  // A late message of an earlier failover finds a sentinel that is as far behind, and a master not demoted yet. And one epoch
  // has one master, which is the one we know.
  const isOld = (view: FailoverView) => {
    const { configEpoch: epoch } = view
    if (epoch === undefined || knownEpoch === undefined) return false
    return names(view) ? epoch <= knownEpoch : epoch < knownEpoch
  }
  // The leader of another failover of this master, which is not over yet, would tell the epoch of that.
  const isAnother = (view: FailoverView) => {
    const { replaces } = request
    return replaces !== undefined && view.named !== undefined && !sameAddress(view.named, replaces)
  }
  const selects = (view: FailoverView) =>
    view.inProgress === true &&
    !isAnother(view) &&
    view.replicas?.some((replica) => sameAddress(replica, candidate)) === true
  const convinces = (view: FailoverView) => !isOld(view) && (names(view) || selects(view))
  const { views, complete } = await panel.failover(masterName, convinces, request)
  const witness = views.find(convinces)
  if (witness === undefined) return { answer: complete ? false : undefined, named: false, epoch: undefined }
  const named = names(witness)
  // Another node in a later epoch was voted for later.
  const isOutdone = ({ named: other, configEpoch }: FailoverView) =>
    other !== undefined && !sameAddress(other, candidate) && (configEpoch ?? 0) > (witness.configEpoch ?? 0)
  if (named && views.some(isOutdone)) return UNSEEN
  // One that names the candidate already says the epoch of the new configuration, which is one later.
  const { configEpoch: epoch } = witness
  return { answer: true, named, epoch: epoch === undefined ? undefined : epoch - (named ? 1 : 0) }
}
