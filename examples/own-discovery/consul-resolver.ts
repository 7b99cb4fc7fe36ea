import { parseAddress, type Resolver } from '../library.js'

/** What Consul answers for a key, as far as it matters here. */
interface KeyValue {
  readonly Value: string
  readonly ModifyIndex: number
}

const RETRY_MS = 1_000

/**
 * Masters as Consul's key-value store has them: `redis/masters/<name>` holds `host:port`. Its index of changes serves as the
 * epoch, and its blocking queries tell of a change as it happens. What Consul says is a hint: the pool asks ROLE.
 */
export function consulResolver(consul: string): Resolver {
  const closed = new AbortController()

  async function read(name: string, signal: AbortSignal, after?: number): Promise<KeyValue | undefined> {
    const query = after === undefined ? '' : `?index=${after}&wait=60s`
    const response = await fetch(`${consul}/v1/kv/redis/masters/${encodeURIComponent(name)}${query}`, {
      signal: AbortSignal.any([signal, closed.signal]),
    })
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`Consul answered ${response.status}`)
    return ((await response.json()) as KeyValue[])[0]
  }

  async function follow(name: string, index: number, onChange: (name: string) => void, signal: AbortSignal) {
    let last = index
    while (!signal.aborted && !closed.signal.aborted) {
      try {
        const now = (await read(name, signal, last))?.ModifyIndex ?? 0
        // An index that went back means that Consul was restored: start anew, as its documentation asks for.
        if (now !== last && !signal.aborted) onChange(name)
        last = now
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref())
      }
    }
  }

  return {
    async resolve(name, { signal }) {
      const found = await read(name, signal)
      if (found === undefined) return null
      const address = parseAddress(Buffer.from(found.Value, 'base64').toString(), 6379)
      if (address === undefined) throw new Error(`Consul's entry for '${name}' is no address`)
      return { address, epoch: found.ModifyIndex }
    },
    async watch(names, onChange) {
      const stop = new AbortController()
      for (const name of names) {
        const index = (await read(name, stop.signal).catch(() => undefined))?.ModifyIndex ?? 0
        // What changed between the pool's first question and this one would never be told.
        onChange(name)
        void follow(name, index, onChange, stop.signal)
      }
      return () => stop.abort()
    },
    close: () => closed.abort(),
  }
}
