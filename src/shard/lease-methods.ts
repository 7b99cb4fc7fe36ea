/**
 * Methods and commands after which a connection is not as it was: another database, login, name, reply mode, tracking,
 * subscription, field set or an open MULTI; or replies come no more (SYNC, CLIENT REPLY), or elsewhere (UNSUBSCRIBE). Cleaning
 * all of that costs more than a new connection, so it is destroyed at release.
 * WATCH is not among them: it is undone with UNWATCH. Nor is the method `multi()`: it sends MULTI … EXEC as one.
 */
const LEAVES_A_MARK =
  /^(select|auth|hello|reset|monitor|p?sync|replconf|multi|client_?(setname|reply|tracking|caching|no[_-]?evict|no[_-]?touch|setinfo|kill|pause)|[ps]?_?(un)?subscribe|readonly|readwrite|asking|script_?debug|himport\w*|quit|close|destroy|disconnect|swapdb|failover|replicaof|slaveof|shutdown|debug)$/i
/** Commands that wait on the server by their nature. Their names begin so, and no other's do. */
const WAITS = /^(b(l|r|z)(m?pop|move|pop|poplpush)|xread|wait|monitor|client_?pause)/i
const EVENT_METHOD =
  /^(on|once|off|addListener|prependListener|prependOnceListener|removeListener|removeAllListeners|emit|listenerCount|listeners|rawListeners|ref|unref)$/
/** What this holder put on would hear what the next one does: it is taken off again. */
const ADDS_A_LISTENER = /^(on|once|addListener|prependListener|prependOnceListener)$/
const MAKES_A_CHAIN = /^(multi|\w+Iterator)$/i
/** What would hand out a client behind which the lease's guard does not reach. By name in lower case, with what to do instead. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['legacy', 'its calls would outlive the lease; use the promises of the client itself'],
  ['createpool', 'a lease is one connection; take more of them with `pool.use(key, …)`'],
])
/** Methods that hand out an object now rather than a promise. */
const MAKES_AN_OBJECT = /^(multi|with\w+|\w+Iterator|duplicate|asap)$/i

/** True for a command that would leave the connection it is sent on other than it was. */
export function leavesAMark(words: readonly unknown[]): boolean {
  const name = String(words[0])
  return /^watch$/i.test(name) || LEAVES_A_MARK.test(name) || LEAVES_A_MARK.test(`${name}_${String(words[1])}`)
}

/** True for a command that waits on the server by its nature. */
export function waitsByNature(name: string): boolean {
  return WAITS.test(name)
}

/** A node-redis client, or what collects commands or pages (`multi()`, iterators). */
export type GuardedKind = 'client' | 'chain'

/** What a lease must know of a method before it lets it through. */
export interface MethodFacts {
  /** Why it is refused; undefined: it is not. */
  readonly refusal: string | undefined
  readonly touchesServer: boolean
  readonly leavesAMark: boolean
  readonly addsAListener: boolean
  readonly waits: boolean
  readonly makesAnObject: boolean
  readonly makesAChain: boolean
  /** Makes a connection of its own, which the caller owns. */
  readonly duplicates: boolean
}

const known: Record<GuardedKind, Map<string, MethodFacts>> = { client: new Map(), chain: new Map() }

/** Found by patterns once: a lease lasts a few commands, and trying them all at each would cost as much as the commands do. */
export function factsOf(kind: GuardedKind, name: string): MethodFacts {
  const facts = known[kind].get(name) ?? find(kind, name)
  known[kind].set(name, facts)
  return facts
}

function find(kind: GuardedKind, name: string): MethodFacts {
  const client = kind === 'client'
  return {
    refusal: client ? REFUSED.get(name.toLowerCase()) : undefined,
    touchesServer: client ? !EVENT_METHOD.test(name) : /^(exec|next)/i.test(name),
    leavesAMark: client && LEAVES_A_MARK.test(name) && !/^multi$/i.test(name),
    addsAListener: client && ADDS_A_LISTENER.test(name),
    waits: WAITS.test(name),
    makesAnObject: MAKES_AN_OBJECT.test(name),
    makesAChain: !client || MAKES_A_CHAIN.test(name),
    duplicates: /^duplicate$/i.test(name),
  }
}
