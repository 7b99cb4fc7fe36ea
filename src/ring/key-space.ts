/**
 * How the hash space of a ring is divided: what `describe` and `planRing` read. Places are parts of the whole, from 0 to 1;
 * for hashes of 32 bits and for slots they are exact.
 */
export type KeySpace = Segments | Remainders | Shares

/** Contiguous parts: `owners[i]` has everything from `ends[i - 1]` (0 for the first) up to `ends[i]`. */
export interface Segments {
  readonly kind: 'segments'
  /** Names the hash and the tag rule: only spaces of the same name can be compared place by place. */
  readonly hash: string
  readonly ends: Float64Array
  readonly owners: Uint16Array
}

/** hash % owners.length, over 2^32 hashes. */
export interface Remainders {
  readonly kind: 'remainders'
  readonly hash: string
  readonly owners: Uint16Array
}

/** Only the expected share of every shard is known (rendezvous), or not even that (a function of the user: undefined). */
export interface Shares {
  readonly kind: 'shares'
  readonly hash: string
  readonly shares: readonly number[] | undefined
}

/** The part of the hash space of each of `count` shards; undefined where nothing is known of it. */
export function sharesOf(space: KeySpace, count: number): number[] | undefined {
  if (space.kind === 'shares') return space.shares?.slice()
  const shares = new Array<number>(count).fill(0)
  if (space.kind === 'segments') {
    let from = 0
    space.ends.forEach((end, i) => {
      shares[space.owners[i]!]! += end - from
      from = end
    })
  } else {
    space.owners.forEach((owner, i) => {
      shares[owner]! += remainderShare(i, space.owners.length)
    })
  }
  return shares
}

const HASHES = 0x100000000

/** The part of all 32-bit hashes that leave this remainder. */
export function remainderShare(remainder: number, modulus: number): number {
  return remainder >= HASHES ? 0 : (Math.floor((HASHES - 1 - remainder) / modulus) + 1) / HASHES
}
