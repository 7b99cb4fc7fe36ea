import type { Route } from './routes.js'

const ANY: Route = { kind: 'any' }
const all = (join: Extract<Route, { kind: 'all' }>['join']): Route => ({ kind: 'all', join, blocking: false })
const refused = (hint: string): Route => ({ kind: 'refused', hint })

/** Commands of these groups live on one connection, and ordinary commands share theirs with everybody. */
export const REFUSED_GROUPS: readonly (readonly [string, string])[] = [
  [
    '@connection',
    'it changes or describes one connection; take one with `pool.use(key, …)` or set it in the `client` options',
  ],
  ['@transaction', 'use `pool.multi()`, or `pool.use(key, …)` for WATCH'],
]

const SUBSCRIBER = refused('use `pool.subscribe(…)` and its kin, which come back by themselves after a failover')

/**
 * What Redis's command tips leave open: keyless commands which "any node" may answer, and special policies. Each line is
 * a decision of ours. What is not listed here and has no policy either is refused.
 */
export const OWN_ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  // Every server gives the same answer, or an answer that belongs to no server.
  ['ACL CAT', ANY],
  ['ACL GENPASS', ANY],
  ['COMMAND', ANY],
  ['COMMAND COUNT', ANY],
  ['COMMAND DOCS', ANY],
  ['COMMAND GETKEYS', ANY],
  ['COMMAND GETKEYSANDFLAGS', ANY],
  ['COMMAND INFO', ANY],
  ['COMMAND LIST', ANY],
  ['ECHO', ANY],
  ['LOLWUT', ANY],
  ['TIME', ANY],
  // In the group @connection, but it only proves that the servers answer.
  ['PING', all('all_succeeded')],
  ['WAIT', { kind: 'all', join: 'agg_min', blocking: true }],
  ['WAITAOF', { kind: 'all', join: 'agg_min', blocking: true }],
  // As their policy says, to all shards; it names the shared connections of this moment. `client.name` names all, for good.
  ['CLIENT SETNAME', all('all_succeeded')],
  ['CLIENT SETINFO', all('all_succeeded')],
  ['CLIENT LIST', all('lines')],
  // Settings that should be equal everywhere: the one answer if they are, an error that shows all answers if not.
  ['ACL GETUSER', all('same')],
  ['ACL LIST', all('same')],
  ['ACL USERS', all('same')],
  ['ACL WHOAMI', all('same')],
  ['ACL LOAD', all('all_succeeded')],
  ['CONFIG GET', all('same_pairs')],
  ['FUNCTION DUMP', all('same')],
  ['FUNCTION LIST', all('same')],
  ['MODULE LIST', all('same')],
  // One text with a heading per shard, so that a reader of `redis_version:` finds it and nobody misses a shard.
  ['INFO', all('text')],
  ['RANDOMKEY', all('random')],
  ['SCAN', { kind: 'scan' }],
  // Channels live on the shard that the ring gives their name, patterns on all of them.
  ['PUBLISH', { kind: 'channel', at: 1 }],
  ['SPUBLISH', { kind: 'channel', at: 1 }],
  ['PUBSUB CHANNELS', all('union')],
  ['PUBSUB SHARDCHANNELS', all('union')],
  ['PUBSUB NUMPAT', all('agg_max')],
  ['PUBSUB NUMSUB', all('counts')],
  ['PUBSUB SHARDNUMSUB', all('counts')],
  ['SUBSCRIBE', SUBSCRIBER],
  ['PSUBSCRIBE', SUBSCRIBER],
  ['SSUBSCRIBE', SUBSCRIBER],
  ['UNSUBSCRIBE', SUBSCRIBER],
  ['PUNSUBSCRIBE', SUBSCRIBER],
  ['SUNSUBSCRIBE', SUBSCRIBER],
  ['RESTORE-ASKING', refused('it is a part of Redis Cluster')],
  // On a shared connection these would hold or break everybody's commands.
  ['HIMPORT PREPARE', refused('field sets live on one connection; take one with `pool.use(key, …)`')],
  ['HIMPORT SET', refused('field sets live on one connection; take one with `pool.use(key, …)`')],
  ['HIMPORT DISCARD', refused('field sets live on one connection; take one with `pool.use(key, …)`')],
  ['HIMPORT DISCARDALL', refused('field sets live on one connection; take one with `pool.use(key, …)`')],
])
