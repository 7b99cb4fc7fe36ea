/**
 * Where every key lives, and nothing else: no I/O, no clock, no Redis. Exported as `sharded-sentinel-pool/ring` and from the
 * package root.
 */
export type * from './options.js'
export type { Move, PlanOptions, RingPlan, ShardChange } from './plan.js'
export { planRing } from './plan.js'
export type { Ring, RingPicture, ShardPicture } from './ring.js'
export { createRing } from './ring.js'
export type { RingShard, ShardInput } from './shards.js'
