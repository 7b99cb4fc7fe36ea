/** What a topology looks like and what is wrong with it: `inspectTopology` asks, `diagnose` judges. */
export { diagnose, type Finding, type FindingCode, type Severity, type Verdict, verdictOf } from './diagnose.js'
export { type FailoverRequest, requestFailover } from './failover.js'
export { type InspectOptions, inspectTopology, type TopologyOptions } from './inspect.js'
export type {
  MasterBelief,
  NodeReport,
  PeerReport,
  ReplicaBelief,
  SentinelReport,
  ServerReport,
  ShardReport,
  TopologyPicture,
} from './picture.js'
