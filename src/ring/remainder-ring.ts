import { InvalidOptionsError } from '../errors.js'
import { span } from './key-bytes.js'
import type { Placement } from './placement.js'
import type { ByteHash } from './point-ring.js'
import type { KeyRule } from './tags.js'

export interface RemainderRing {
  readonly rule: KeyRule
  readonly hashId: string
  readonly hash: ByteHash
  readonly facts: string
  /** Entries of each shard in the list that the remainder points into. */
  readonly weights: readonly number[]
}

const MAX_ENTRIES = 4_194_304

/** hash % number of entries: every shard stands in a list as often as it weighs. The order of the list decides. */
export function remainderRing(ring: RemainderRing): Placement {
  const { rule, hash, weights } = ring
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  if (total > MAX_ENTRIES) {
    throw new InvalidOptionsError('masters', `the weights add up to more than ${MAX_ENTRIES}; use smaller ones`)
  }
  const owners = new Uint16Array(total)
  let at = 0
  for (const [i, weight] of weights.entries()) {
    owners.fill(i, at, at + weight)
    at += weight
  }
  const find = (): number => owners[(hash(span.bytes, span.start, span.end) >>> 0) % total]!
  return {
    locateText(key) {
      rule.text(key)
      return find()
    },
    locateBytes(key) {
      rule.bytes(key)
      return find()
    },
    space: () => ({ kind: 'remainders', hash: `${ring.hashId} of ${rule.id}`, owners }),
    points: weights,
    facts: ring.facts,
    ordered: true,
  }
}
