/** The one place where the examples meet the library. In an app of yours these are two packages: */

export { startDashboard } from '../src/cli/dashboard/index.js' // 'sharded-sentinel-pool/dashboard'
export * from '../src/index.js' // 'sharded-sentinel-pool'
export { LocalTopology, type TopologyNode } from '../src/testing/index.js' // 'sharded-sentinel-pool/testing'
