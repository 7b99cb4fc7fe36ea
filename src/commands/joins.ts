/** How the replies of several shards become one: Redis's response policies, and some of our own. */
export type Join =
  | 'default-keyless'
  | 'all_succeeded'
  | 'one_succeeded'
  | 'agg_sum'
  | 'agg_min'
  | 'agg_max'
  | 'agg_logical_and'
  | 'agg_logical_or'
  /** The one reply that all shards gave; undefined where they differ. */
  | 'same'
  /** The same for pairs of name and value, whose order is each server's own; RESP 2 has them in a list. */
  | 'same_pairs'
  /** Texts one after the other, each under a line that names its shard. */
  | 'text'
  /** Texts of whole lines, end to end. */
  | 'lines'
  /** One of the replies that are not null, by chance. */
  | 'random'
  /** Lists joined, each entry once. */
  | 'union'
  /** Pairs of name and number, numbers added up per name. */
  | 'counts'

/** Joins that calculate: they need plain numbers, so a type mapping is put on only afterwards. */
const NUMERIC: ReadonlySet<Join> = new Set(['agg_sum', 'agg_min', 'agg_max', 'agg_logical_and', 'agg_logical_or'])

export function isNumeric(join: Join): boolean {
  return NUMERIC.has(join)
}

/** Replies in the order of the shards, at least one. `names` are the shards' names in the same order. */
export function joinReplies(join: Join, replies: readonly unknown[], names: readonly string[]): unknown {
  if (replies.length === 1 && join !== 'text') return replies[0]
  switch (join) {
    case 'all_succeeded':
    case 'one_succeeded':
      return replies[0]
    case 'agg_sum':
      return fold(replies, (a, b) => a + b)
    case 'agg_min':
      return fold(replies, Math.min)
    case 'agg_max':
      return fold(replies, Math.max)
    case 'agg_logical_and':
      return fold(replies, (a, b) => (a && b ? 1 : 0))
    case 'agg_logical_or':
      return fold(replies, (a, b) => (a || b ? 1 : 0))
    case 'same':
      return replies.every((reply) => sameReply(reply, replies[0])) ? replies[0] : undefined
    case 'same_pairs':
      return replies.every((reply) => sameReply(pairsOf(reply), pairsOf(replies[0]))) ? replies[0] : undefined
    case 'text':
      return joinTexts(replies, (i) => `# shard ${names[i]}\r\n`, '\r\n')
    case 'lines':
      return joinTexts(replies, () => '', '')
    case 'random': {
      const some = replies.filter((reply) => reply !== null)
      return some.length === 0 ? null : some[Math.floor(Math.random() * some.length)]
    }
    case 'union':
      return union(replies)
    case 'counts':
      return addCounts(replies)
    case 'default-keyless':
      return concatenate(replies)
  }
}

/** Number by number; lists of numbers place by place. */
function fold(replies: readonly unknown[], step: (a: number, b: number) => number): unknown {
  const [first] = replies
  if (Array.isArray(first)) {
    return first.map((_, i) =>
      (replies as readonly number[][]).map((reply) => Number(reply[i])).reduce((a, b) => step(a, b)),
    )
  }
  return replies.map(Number).reduce((a, b) => step(a, b))
}

function joinTexts(replies: readonly unknown[], heading: (i: number) => string, between: string): unknown {
  if (replies.some((reply) => reply instanceof Uint8Array)) {
    return Buffer.concat(replies.flatMap((reply, i) => [Buffer.from(heading(i)), Buffer.from(reply as Buffer)]))
  }
  return replies.map((reply, i) => heading(i) + String(reply)).join(between)
}

/** Lists end to end; sets and maps as one; what is neither stays a list with an entry per shard. */
function concatenate(replies: readonly unknown[]): unknown {
  const [first] = replies
  if (replies.every(Array.isArray)) return (replies as readonly unknown[][]).flat()
  if (first instanceof Set) return new Set((replies as readonly Set<unknown>[]).flatMap((set) => [...set]))
  if (first instanceof Map) return new Map((replies as readonly Map<unknown, unknown>[]).flatMap((map) => [...map]))
  return replies
}

function union(replies: readonly unknown[]): unknown {
  const [first] = replies
  const seen = new Map<string, unknown>()
  for (const reply of replies) {
    for (const entry of reply as Iterable<unknown>) {
      const key = entry instanceof Uint8Array ? `b${Buffer.from(entry).toString('latin1')}` : `s${String(entry)}`
      if (!seen.has(key)) seen.set(key, entry)
    }
  }
  return first instanceof Set ? new Set(seen.values()) : [...seen.values()]
}

/** `[name, count, name, count…]` of each shard for the same names: the counts are added up in place. */
function addCounts(replies: readonly unknown[]): unknown {
  const lists = replies as readonly unknown[][]
  return lists[0]!.map((entry, i) => (i % 2 === 0 ? entry : lists.reduce((total, list) => total + Number(list[i]), 0)))
}

/** A list of names and values by name; a map or an object is one already. */
function pairsOf(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply
  const pairs = new Map<string, unknown>()
  for (let i = 0; i < reply.length; i += 2) pairs.set(String(reply[i]), reply[i + 1])
  return pairs
}

/** Deep equality of plain replies: scalars, bytes, lists, maps, sets and objects; the order of a map does not count. */
export function sameReply(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((entry, i) => sameReply(entry, b[i]))
  if (a instanceof Set && b instanceof Set) return sameReply([...a].sort(), [...b].sort())
  if (a instanceof Map && b instanceof Map) {
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && sameReply(value, b.get(key)))
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => sameReply((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  )
}
