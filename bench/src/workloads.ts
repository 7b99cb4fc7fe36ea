import type { Contender, Task } from './contract.js'

/** Starts one operation; `turn` counts them. The number of commands in it is `weight` of its workload. */
type Operation = (turn: number) => Promise<unknown>

interface Workload {
  /** Undefined where the contender cannot do it. */
  prepare(contender: Contender, keys: Keys, value: string): Operation | undefined
}

export interface Keys {
  readonly all: readonly string[]
  /** Slices of `all`, made before the clock runs. */
  readonly fifties: readonly (readonly string[])[]
  readonly hundreds: readonly (readonly string[])[]
}

export const KEY_COUNT = 8192
const MASK = KEY_COUNT - 1

export function makeKeys(): Keys {
  const all = Array.from({ length: KEY_COUNT }, (_, i) => `session:${String(i * 7919).padStart(8, '0')}:data`)
  const slices = (size: number) => Array.from({ length: 64 }, (_, i) => all.slice(i * size, (i + 1) * size))
  return { all, fifties: slices(50), hundreds: slices(100) }
}

function getSmall(contender: Contender, { all }: Keys): Operation {
  return (turn) => contender.get(all[turn & MASK]!)
}

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  get: { prepare: getSmall },
  'get beside large': { prepare: getSmall },
  'get beside large apart': { prepare: getSmall },
  set: {
    prepare: ({ set }, { all }, value) => set && ((turn) => set(all[turn & MASK]!, value)),
  },
  // Four reads to a write.
  mix: {
    prepare: ({ get, set }, { all }, value) =>
      set && ((turn) => (turn % 5 === 0 ? set(all[turn & MASK]!, value) : get(all[turn & MASK]!))),
  },
  'get bytes': {
    prepare: ({ getBytes }, { all }) => getBytes && ((turn) => getBytes(all[turn & MASK]!)),
  },
  'set bytes': {
    prepare: ({ set }, { all }, value) => {
      const bytes = Buffer.from(value)
      return set && ((turn) => set(all[turn & MASK]!, bytes))
    },
  },
  'mget of 50': {
    prepare: ({ mGet }, { fifties }) => mGet && ((turn) => mGet(fifties[turn & 63]!)),
  },
  'pipeline of 100': {
    prepare: ({ pipeline }, { hundreds }) => pipeline && ((turn) => pipeline(hundreds[turn & 63]!)),
  },
}

/** A value of 1 MB of every shard, so that each shared connection has one on it. See servers.ts. */
export const LARGE = Array.from({ length: 64 }, (_, i) => `large:${i}`)

/** What goes on beside the measured calls: somebody reads large values one after another, by the shared way or apart. */
export const BESIDE: Readonly<Record<string, (contender: Contender) => Operation | undefined>> = {
  'get beside large': (contender) => (turn) => contender.get(LARGE[turn % LARGE.length]!),
  'get beside large apart': ({ getApart }) => getApart && ((turn) => getApart(LARGE[turn % LARGE.length]!)),
}

/**
 * Transactions run on one connection per shard with one in flight on each, since a bare client can have no two: what each
 * of the lanes is given are keys of one shard.
 */
export function transactionLane(contender: Contender, keys: readonly string[]): Operation | undefined {
  const { transaction } = contender
  return transaction && ((turn) => transaction(keys[turn % keys.length]!))
}

export function isTransaction(task: Task): boolean {
  return task.workload === 'watch multi exec'
}
