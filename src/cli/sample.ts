import type { PoolOptions } from '../index.js'
import { makePool } from './pool.js'

export interface Sample {
  readonly keys: readonly string[]
  /** Keys on a shard that the ring does not place them on. */
  readonly strays: readonly { readonly key: string; readonly on: string; readonly belongs: string }[]
}

/**
 * Real keys, by SCAN on every master, as many of each shard as its part of all keys comes to. SCAN goes through a hash
 * table, so the first keys it tells are as good a sample as any.
 */
export async function sampleKeys(
  options: PoolOptions,
  count: number,
  locate: (key: string) => string,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<Sample> {
  const pool = makePool({ ...options, placementGuard: 'off', readFrom: 'master' })
  const stop = () => pool.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    await pool.connect()
    const ask = (index: number, ...words: string[]) => pool.shards[index]!.sendCommand(words, { readOnly: true })
    const sizes = await Promise.all(pool.shards.map(async (_, i) => Number(await ask(i, 'DBSIZE'))))
    const all = sizes.reduce((sum, size) => sum + size, 0)
    const total = Math.min(count, all)
    const keys: string[] = []
    const strays: { key: string; on: string; belongs: string }[] = []
    for (const [i, shard] of pool.shards.entries()) {
      const wanted = Math.round((sizes[i]! / Math.max(1, all)) * total)
      const seen = new Set<string>()
      let cursor = '0'
      while (seen.size < wanted) {
        const page = await ask(i, 'SCAN', cursor, 'COUNT', String(Math.min(1_000, wanted)))
        signal.throwIfAborted()
        const [next, found] = page as [unknown, unknown[]]
        for (const key of found) if (seen.size < wanted) seen.add(String(key))
        cursor = String(next)
        onProgress(keys.length + seen.size, total)
        if (cursor === '0') break
      }
      for (const key of seen) {
        const belongs = locate(key)
        if (belongs !== shard.name) strays.push({ key, on: shard.name, belongs })
        keys.push(key)
      }
    }
    return { keys, strays }
  } finally {
    signal.removeEventListener('abort', stop)
    pool.destroy()
  }
}
