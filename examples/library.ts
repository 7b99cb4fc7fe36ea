/** The one place where the examples meet the library. In an app of yours these are two packages: */
export * from '../src/index.js' // 'sharded-sentinel-pool'
export { LocalTopology, type TopologyNode } from '../src/testing/index.js' // 'sharded-sentinel-pool/testing'
