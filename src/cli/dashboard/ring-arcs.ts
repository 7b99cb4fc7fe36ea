import type { Ring } from '../../index.js'

/** Parts of the ring, from 0 to 1, as `[from, to]` pairs laid end to end: `[0, 0.1, 0.4, 0.5]` are two arcs. */
export interface ShardArcs {
  readonly name: string
  readonly arcs: readonly number[]
}

/** More would be thinner than a line on a screen. */
const MAX_ARCS = 6_000

/**
 * Where each shard's keys lie on the ring: its real arcs; for rings that are no circle of points (a list, slots, a
 * rendezvous) one arc of the size of its share; nothing where not even that is known.
 */
export function ringArcs(ring: Ring): readonly ShardArcs[] {
  const space = ring.keySpace
  if (space.kind === 'segments' && space.ends.length <= MAX_ARCS) {
    const arcs = ring.shards.map((): number[] => [])
    let from = 0
    for (const [i, to] of space.ends.entries()) {
      const own = arcs[space.owners[i]!]!
      // Neighbours of one owner are one arc.
      if (own.at(-1) === from) own[own.length - 1] = to
      else own.push(from, to)
      from = to
    }
    return ring.shards.map(({ name }, i) => ({ name, arcs: arcs[i]! }))
  }
  let at = 0
  return ring.describe().shards.map(({ name, share }) => {
    if (share === undefined) return { name, arcs: [] }
    const arcs = [at, at + share]
    at += share
    return { name, arcs }
  })
}
