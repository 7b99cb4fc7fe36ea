import { type Address, sameAddress } from '../address.js'
import { agreementMs, type Incumbent, wasReplaced } from './decide.js'

interface Known {
  readonly address: Address
  readonly configEpoch: number | undefined
  readonly followed: boolean
  readonly leastEpoch?: boolean
  readonly replaced?: Address | undefined
  readonly since: number
}

interface Followed {
  /** Of the master it replaces, as far as a sentinel said it. */
  readonly replacedEpoch: number | undefined
  /** It was the failover's leader that said so. */
  readonly leaderHeard: boolean
  /** It took so long that other failovers may have come between. */
  readonly late: boolean
  /** The master it was to replace, as the failover's leader announced it. */
  readonly replaced?: Address | undefined
}

/** Which master of each name was verified last, and at which epoch: what an older word is measured against. */
export class VerifiedMasters {
  readonly #known = new Map<string, Known>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get(masterName: string): Incumbent | undefined {
    const known = this.#known.get(masterName)
    return known && { ...known, ageMs: this.#now() - known.since }
  }

  /** See there. */
  wasReplaced(masterName: string, address: Address, epoch: number | undefined): boolean {
    return wasReplaced(this.get(masterName), address, epoch)
  }

  /** ROLE has proved what sentinels named. */
  proved(masterName: string, address: Address, configEpoch: number | undefined): void {
    const before = this.#known.get(masterName)
    const same = before !== undefined && sameAddress(before.address, address)
    // A sentinel that is far behind may name it from the last time it was the master: that makes it no older than it is.
    if (same && isOlder(configEpoch, before.configEpoch) && this.#now() - before.since < agreementMs) return
    // Its announcement does not make a followed master younger; and until then no sentinel has said an epoch of it.
    const since = same && (before.configEpoch === configEpoch || before.followed) ? before.since : this.#now()
    const followed = same && before.followed && configEpoch === undefined
    this.#known.set(masterName, { address, configEpoch, followed, since })
  }

  /**
   * ROLE has proved a node that was followed through its promotion, ahead of any announcement. `replacedEpoch` is what the
   * failover's leader said: the master known here may be older still, where a failover was missed. Where it took so long
   * that one may have been (`late`) and no leader was heard, its epoch is unknown: nobody's word outranks it for a while.
   */
  followed(masterName: string, address: Address, { replacedEpoch, leaderHeard, late, replaced }: Followed): void {
    const before = this.#known.get(masterName)
    if (before !== undefined && sameAddress(before.address, address)) return
    // Between the epoch of the master it replaces and the one that will be announced. One that was followed as well and never
    // announced has a whole one by now, which is the next.
    const least = before?.configEpoch
    let configEpoch: number | undefined
    if (replacedEpoch !== undefined) configEpoch = Math.floor(Math.max(replacedEpoch, least ?? replacedEpoch)) + 0.5
    else if (least !== undefined && !late) configEpoch = Math.ceil(least) + 0.5
    this.#known.set(masterName, {
      address,
      configEpoch,
      followed: true,
      leastEpoch: !leaderHeard,
      replaced,
      since: this.#now(),
    })
  }
}

function isOlder(epoch: number | undefined, other: number | undefined): boolean {
  return epoch !== undefined && other !== undefined && epoch < other
}
