/**
 * `sharded-sentinel-pool/testing`: real Redis servers and sentinels on this machine, for tests, demos and benchmarks.
 * Needs `redis-server` (and `openssl` for TLS); nothing else, and nothing of the pool.
 */
export type { FailoverOptions, FailoverReport, WaitOptions } from './failover.js'
export { LocalTopology, type SettleOptions } from './local-topology.js'
export type { ProcessState } from './redis-process.js'
export { type ResolverContractCase, type ResolverContractSubject, resolverContract } from './resolver-contract.js'
export type { MessageListener } from './resp-connection.js'
export { type CommandArgument, type Reply, RespError } from './resp-parser.js'
export type { NodeRole } from './role.js'
export type { ShardHandle } from './shard-handle.js'
export type { SwitchMessage } from './switch-message.js'
export { type ProxyMode, type ProxyStats, TcpProxy, type TcpProxySettings } from './tcp-proxy.js'
export { TopologyError, type TopologyErrorCode } from './topology-error.js'
export type { TopologyNode } from './topology-node.js'
export type { ConfigLines, LocalTopologyOptions, Login, TlsOptions } from './topology-options.js'
