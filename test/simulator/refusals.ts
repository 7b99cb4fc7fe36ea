/** Refusals that a node in trouble gives to what it does not execute. */
export type Trouble = 'LOADING' | 'BUSY' | 'MASTERDOWN' | 'NOREPLICAS' | 'READONLY'

/** What CLIENT PAUSE … WRITE holds back too. */
export const WRITES: ReadonlySet<string> = new Set(['SET', 'MSET', 'INCRBY', 'GETSET', 'BLPOP', 'PUBLISH'])
/** What a server answers in any state, and before anybody has logged in. */
const ALWAYS = new Set(['HELLO', 'AUTH', 'CLIENT'])

/** What a node says instead of executing the command, in Redis's order: login, script, loading, then what the role allows. */
export function refusalOf(
  { role, trouble }: { readonly role: 'master' | 'slave'; readonly trouble: Trouble | undefined },
  verb: string,
  loggedIn: boolean,
): Error | undefined {
  if (ALWAYS.has(verb)) return undefined
  if (!loggedIn) return new Error('NOAUTH Authentication required.')
  if (trouble === 'BUSY') return new Error('BUSY Redis is busy running a script.')
  if (verb === 'ROLE' || verb === 'INFO') return undefined
  if (trouble === 'LOADING') return new Error('LOADING Redis is loading the dataset in memory')
  if (trouble === 'MASTERDOWN' && role === 'slave')
    return new Error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")
  if (!WRITES.has(verb)) return undefined
  if (role === 'slave' || trouble === 'READONLY')
    return new Error("READONLY You can't write against a read only replica.")
  if (trouble === 'NOREPLICAS') return new Error('NOREPLICAS Not enough good replicas to write.')
  return undefined
}
