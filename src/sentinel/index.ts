/** "Who is the master of this name?" What the other rooms may use of it. */
export { CustomSource, type CustomSourceSettings, type ResolvedAddress, type Resolver } from './custom-source.js'
export { type SentinelEntry, SentinelList, type SentinelListSettings } from './list.js'
export type { FailoverPhase } from './messages.js'
export { readAddress, readFields, readMasterAddress, readText } from './replies.js'
export { type ConnectionKind, SentinelResolver, type SentinelResolverSettings } from './resolver.js'
export type {
  AttemptRequest,
  FollowRequest,
  MasterSource,
  NamedMaster,
  ResolveRequest,
  VerifiedMaster,
} from './source.js'
export { StaticSource, type StaticSourceSettings } from './static-source.js'
export { SentinelWatchError } from './subscription.js'
export { askRole, connectMaster } from './verify.js'
export { type RecheckReason, SentinelWatcher, type SentinelWatcherSettings, type WatcherCallbacks } from './watcher.js'
