import { type Address, addressKey, sameAddress } from '../address.js'

/**
 * PURE: from what several sentinels said to the address to prove. No I/O, no clock.
 *
 * The rules, strongest first. An address of a higher config-epoch was voted for later: it wins where epochs are visible.
 * Else the majority of those that answered wins. A minority's address must be known to another sentinel as a member of
 * the group (`needsWitness`), so that one liar cannot name a stranger. And what is older than the master verified last
 * (`held`) does not replace it as long as that one proves to be a master, or the sentinels may not have agreed yet.
 */

/** What one sentinel said of one master name. Addresses are mapped. */
export interface Answer {
  /** For people: `host:port`. */
  readonly sentinel: string
  /** Equal for two entries that are the same sentinel. */
  readonly id: string
  /** null: it knows no such master; undefined: it gave no answer, and `error` says why. */
  readonly address: Address | null | undefined
  /** The address before `addressMap`. */
  readonly announced?: Address | undefined
  /** Undefined where the ACL hides SENTINEL MASTER. */
  readonly configEpoch?: number | undefined
  readonly error?: string | undefined
}

/** The master that was verified last. */
export interface Incumbent {
  readonly address: Address
  /** A followed node that no sentinel has announced yet ranks half an epoch above the one it replaces. */
  readonly configEpoch: number | undefined
  /** It was found by following a failover, ahead of the sentinels' agreement. */
  readonly followed: boolean
  /** Followed without a word of the failover's leader: the epoch may be higher, where failovers were missed. */
  readonly leastEpoch?: boolean
  /** Followed: the master it was to replace, as the failover's leader announced it. */
  readonly replaced?: Address | undefined
  /** Since it was first verified at this address and epoch, in ms. */
  readonly ageMs: number
}

export interface Candidate {
  readonly address: Address
  readonly announced: Address
  readonly configEpoch: number | undefined
  readonly votes: number
  readonly namedBy: string
  /** Ids of the sentinels that named it. */
  readonly voters: readonly string[]
  /** Other sentinels answered otherwise and are not fewer: another one must know this address as one of the group. */
  readonly needsWitness: boolean
  /** Older than the incumbent: take it only if the incumbent has proved to be no master (`until-demoted`), never on a minority's word alone. */
  readonly held: boolean
}

export type Verdict =
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'candidates'
      /** Best first. */
      readonly candidates: readonly Candidate[]
      /** Epochs rank them: when the best is a legitimate one and not yet a master, no other is. */
      readonly ranked: boolean
    }

/**
 * So long after a switch the sentinels may still disagree, in ms. They tell each other every 2 s; afterwards a majority with a
 * lower epoch means that the master was removed and is monitored anew (its epoch starts at 0 again).
 */
export const agreementMs = 5000

/** One answer per distinct sentinel; the first one that came counts. */
export function distinct(answers: readonly Answer[]): readonly Answer[] {
  const seen = new Map<string, Answer>()
  for (const answer of answers) {
    const before = seen.get(answer.id)
    if (before === undefined || (before.address === undefined && answer.address !== undefined))
      seen.set(answer.id, answer)
  }
  return [...seen.values()]
}

interface Group {
  readonly address: Address
  readonly announced: Address
  epoch: number | undefined
  namedBy: string
  readonly voters: string[]
  /** How many of them say the latest epoch; the others only repeat an old word. */
  latest: number
}

function group(answers: readonly Answer[]): Group[] {
  const groups = new Map<string, Group>()
  for (const { address, announced, configEpoch, sentinel, id } of answers) {
    if (address === undefined || address === null) continue
    const key = addressKey(address)
    const known = groups.get(key)
    if (known === undefined) {
      const first = { address, announced: announced ?? address, epoch: configEpoch, namedBy: sentinel }
      groups.set(key, { ...first, voters: [id], latest: 1 })
      continue
    }
    known.voters.push(id)
    if (configEpoch === known.epoch) known.latest++
    else if (configEpoch !== undefined && (known.epoch === undefined || configEpoch > known.epoch)) {
      known.epoch = configEpoch
      known.namedBy = sentinel
      known.latest = 1
    }
  }
  return [...groups.values()]
}

/** `known` is the number of distinct sentinels, reachable or not. */
export function decide(all: readonly Answer[], known: number, incumbent?: Incumbent): Verdict {
  const answers = distinct(all)
  const groups = group(answers)
  if (groups.length === 0) return { kind: answers.some((a) => a.address === null) ? 'unknown' : 'unreachable' }
  const votes = groups.reduce((sum, g) => sum + g.voters.length, 0)
  const ranked = groups.every((g) => g.epoch !== undefined)
  const isIncumbent = (g: Group) => incumbent !== undefined && sameAddress(g.address, incumbent.address)
  groups.sort(
    (a, b) =>
      (ranked ? b.epoch! - a.epoch! || b.latest - a.latest || Number(isIncumbent(b)) - Number(isIncumbent(a)) : 0) ||
      b.voters.length - a.voters.length ||
      Number(isIncumbent(b)) - Number(isIncumbent(a)),
  )
  const candidates = groups.map(
    (g): Candidate => ({
      address: g.address,
      announced: g.announced,
      configEpoch: g.epoch,
      votes: g.voters.length,
      namedBy: g.namedBy,
      voters: g.voters,
      needsWitness: groups.length > 1 && g.voters.length * 2 <= votes,
      held: !isIncumbent(g) && isOutranked(g, known, incumbent),
    }),
  )
  return { kind: 'candidates', candidates, ranked }
}

function isOutranked(g: Group, known: number, incumbent: Incumbent | undefined): boolean {
  if (incumbent === undefined) return false
  const young = incumbent.ageMs < agreementMs
  // Whatever its epoch: where failovers were missed, it may be higher than what is known of the one that replaced it.
  if (wasReplaced(incumbent, g.address, g.epoch)) return true
  if (g.epoch === undefined || incumbent.configEpoch === undefined) return incumbent.followed && young
  // One epoch has one master: another address of the same epoch is a contradiction, no news.
  if (g.epoch > incumbent.configEpoch) return incumbent.leastEpoch === true && young && g.voters.length * 2 <= known
  return young || g.voters.length * 2 <= known
}

/**
 * A failover that has just been followed was to replace this node: whoever still names it has not heard of that, unless he says
 * an epoch that only a later failover can have.
 */
export function wasReplaced(incumbent: Incumbent | undefined, address: Address, epoch: number | undefined): boolean {
  if (incumbent?.replaced === undefined || incumbent.leastEpoch !== true || incumbent.ageMs >= agreementMs) return false
  if (!sameAddress(address, incumbent.replaced)) return false
  return epoch === undefined || incumbent.configEpoch === undefined || epoch <= Math.ceil(incumbent.configEpoch)
}

/** True when more than half of `size` sentinels have answered, and all of these name `address`. */
export function agree(answers: readonly Answer[], size: number, address: Address): boolean {
  const heard = distinct(answers).filter((answer) => answer.address !== undefined)
  if (heard.length * 2 <= size) return false
  return heard.every((answer) => answer.address !== null && sameAddress(answer.address!, address))
}

/**
 * May one stop asking? When more than half of all known sentinels name one address and nobody names another of a higher
 * epoch, the rest cannot change the verdict, unless `awaited`, the announcer of a switch, has not spoken yet.
 */
export function isSafe(all: readonly Answer[], known: number, awaited?: string): boolean {
  const answers = distinct(all)
  if (awaited !== undefined && !all.some((a) => a.sentinel === awaited)) return false
  const groups = group(answers)
  return groups.length === 1 && groups[0]!.voters.length * 2 > known
}
