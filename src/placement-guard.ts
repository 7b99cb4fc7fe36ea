import { bounded } from './async/deadline.js'
import { PlacementMismatchError } from './errors.js'
import type { PlacementUncheckedEvent } from './events.js'
import type { RedisArgument } from './redis-client.js'
import type { Ring } from './ring/index.js'
import type { MasterSource, VerifiedMaster } from './sentinel/index.js'
import type { CommandProfile } from './shard/call.js'

/** Where a shard keeps the claim: one key on every shard, in the database of the pool's `client` options, never prefixed. */
export const PLACEMENT_KEY = 'sharded-sentinel-pool:placement'

/** What the guard needs of a shard. */
export interface GuardedShard {
  readonly name: string
  readonly index: number
  execute(args: readonly RedisArgument[], profile: CommandProfile): Promise<unknown>
}

const READ: CommandProfile = { name: 'GET', readOnly: true }
const WRITE: CommandProfile = { name: 'SET', readOnly: false }

/** What a shard's claim says: the ring, and which of its shards this is. */
export function claimOf(ring: Ring, index: number): string {
  return `${ring.describe().fingerprint} # ${ring.shards[index]!.label}`
}

/**
 * Compares the ring with what the shards' data was placed by. `'check'` only reads; `'claim'` also writes the claim where
 * there is none, after all shards were found to agree. A shard that cannot be read is reported and let pass.
 * @throws PlacementMismatchError showing both sides, shard by shard
 */
export async function checkPlacement(
  shards: readonly GuardedShard[],
  ring: Ring,
  mode: 'check' | 'claim',
  onUnchecked: (event: PlacementUncheckedEvent) => void,
): Promise<void> {
  const read = await Promise.all(shards.map((shard) => attempt(shard, ['GET', PLACEMENT_KEY], READ, onUnchecked)))
  refuseDifferent(shards, ring, read)
  if (mode === 'check') return
  const unclaimed = shards.filter((_, i) => read[i] === null)
  const written = await Promise.all(
    unclaimed.map(async (shard) => {
      const claim = claimOf(ring, shard.index)
      await attempt(shard, ['SET', PLACEMENT_KEY, claim, 'NX'], WRITE, onUnchecked)
      // Somebody else may have claimed it in between.
      return attempt(shard, ['GET', PLACEMENT_KEY], READ, onUnchecked)
    }),
  )
  refuseDifferent(unclaimed, ring, written)
}

function refuseDifferent(shards: readonly GuardedShard[], ring: Ring, claims: readonly unknown[]): void {
  const found = shards.flatMap((shard, i) => {
    const claim = claims[i]
    if (claim === null || claim === undefined || String(claim) === claimOf(ring, shard.index)) return []
    return [{ shard: shard.name, claim: String(claim) }]
  })
  if (found.length === 0) return
  const expected = shards.map((shard) => `${shard.name}: ${claimOf(ring, shard.index)}`)
  throw new PlacementMismatchError(expected.join('; '), found)
}

/** undefined where the server refuses: no permission, a value of another type. */
async function attempt(
  shard: GuardedShard,
  args: readonly RedisArgument[],
  profile: CommandProfile,
  onUnchecked: (event: PlacementUncheckedEvent) => void,
): Promise<unknown> {
  try {
    return await shard.execute(args, profile)
  } catch (cause) {
    onUnchecked({ shard: shard.name, cause })
    return undefined
  }
}

export interface LateGuardSettings {
  readonly ring: Ring
  readonly mode: 'check' | 'claim'
  /** Bound on reading one shard's claim, in ms. */
  readonly timeoutMs: number
  onUnchecked(event: PlacementUncheckedEvent): void
  /** Once per shard, however often its master is looked at. */
  onMismatch(error: PlacementMismatchError): void
}

/**
 * The guard of shards that were not there when `connect()` looked: each is compared before it serves its first call. Until
 * it agrees with the ring its master counts as not found, so that its calls fail and say why, and the others go on.
 */
export class LateGuard {
  readonly #settings: LateGuardSettings
  /** Names of shards still to be compared; with those that were found to differ already. */
  readonly #late = new Map<string, { told: boolean }>()

  constructor(settings: LateGuardSettings) {
    this.#settings = settings
  }

  /** From now on a master of this name is compared before it is let in. */
  expect(name: string): void {
    this.#late.set(name, { told: false })
  }

  /** The same source, with a master of an expected name let through only after the comparison. */
  over(source: MasterSource): MasterSource {
    return {
      resolve: async (name, request) => this.#admit(name, await source.resolve(name, request), request.signal),
      followCandidate: async (name, candidate, request) =>
        this.#admit(name, await source.followCandidate(name, candidate, request), request.signal),
      lookup: (names, request) => source.lookup(names, request),
      replicas: (name, request) => source.replicas(name, request),
      close: () => source.close(),
    }
  }

  async #admit(name: string, verified: VerifiedMaster, signal: AbortSignal): Promise<VerifiedMaster> {
    const late = this.#late.get(name)
    if (late === undefined) return verified
    const { ring, mode, timeoutMs, onUnchecked, onMismatch } = this.#settings
    const { connection } = verified
    const index = ring.shards.findIndex((shard) => shard.name === name)
    const shard: GuardedShard = { name, index, execute: (args) => connection.send(args) }
    try {
      const onTimeout = () => new Error(`no answer to the placement check within ${timeoutMs} ms`)
      await bounded(checkPlacement([shard], ring, mode, onUnchecked), { timeoutMs, signal, onTimeout })
      // One that could not be read because it is gone has agreed to nothing.
      if (connection.cause !== undefined) throw connection.cause
    } catch (error) {
      connection.destroy()
      if (error instanceof PlacementMismatchError && !late.told) {
        late.told = true
        onMismatch(error)
      }
      throw error
    }
    this.#late.delete(name)
    return verified
  }
}
