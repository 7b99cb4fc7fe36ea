import { type Address, sameAddress } from '../address.js'
import type { FailoverView, SentinelPanel } from './panel.js'
import type { AttemptRequest } from './source.js'

/** What the sentinels say of a node that a message named as the next master. */
export interface Selection {
  /** Undefined where it cannot be seen: denied, or not all of them could be asked. */
  readonly answer: boolean | undefined
  /** Of the configuration that the failover ends. */
  readonly epoch: number | undefined
}

export const UNSEEN: Selection = { answer: undefined, epoch: undefined }

/** A selected node becomes master within this, in ms. What was said of it longer ago may have been another failover's. */
export const selectionGoodMs = 300

/**
 * Do the sentinels themselves say that a failover goes on and that the candidate belongs to the group, or that it is the
 * master by now? `knownEpoch` is that of the master verified last.
 */
export async function askSelection(
  panel: SentinelPanel,
  masterName: string,
  candidate: Address,
  knownEpoch: number | undefined,
  request: AttemptRequest,
): Promise<Selection> {
  // A late message of an earlier failover finds a sentinel that is as far behind, and a master not demoted yet.
  const isOld = ({ configEpoch: epoch }: FailoverView) =>
    epoch !== undefined && knownEpoch !== undefined && epoch < knownEpoch
  const names = ({ named }: FailoverView) => named !== undefined && sameAddress(named, candidate)
  const convinces = (view: FailoverView) =>
    !isOld(view) &&
    (names(view) ||
      (view.inProgress === true && view.replicas?.some((replica) => sameAddress(replica, candidate)) === true))
  const { views, complete } = await panel.failover(masterName, convinces, request)
  const witness = views.find(convinces)
  // One that names the candidate already says the epoch of the new configuration, which is one later.
  const later = witness !== undefined && names(witness) ? 1 : 0
  const epoch = witness?.configEpoch === undefined ? undefined : witness.configEpoch - later
  return { answer: witness !== undefined || (complete ? false : undefined), epoch }
}
