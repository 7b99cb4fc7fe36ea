import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SentinelReport } from '../../../src/index.js'
import { nodesOf, withLag } from '../../../src/inspect/shard-nodes.js'
import { belief, healthy, node } from './pictures.js'

const at = (port: number) => ({ host: '10.0.0.1', port })
const sentinels = (...ports: readonly (readonly [port: number, epoch: number | undefined])[]) =>
  ports.map(([port, configEpoch], i) => ({
    ...(healthy().sentinels[i] as SentinelReport),
    beliefs: [belief('cache-a', port, { configEpoch })],
  }))
const as = (address: { host: string; port: number }) => address

describe('the nodes of a shard', () => {
  it('the latest configuration names the master, however few know it', () => {
    assert.deepEqual(nodesOf('cache-a', sentinels([7001, 1], [7001, 1], [7002, 2]), undefined, as).master, at(7002))
  })

  it('with epochs hidden the most votes do', () => {
    const told = sentinels([7002, undefined], [7001, undefined], [7001, undefined])
    assert.deepEqual(nodesOf('cache-a', told, undefined, as).master, at(7001))
  })

  it('everybody who was ever named is in the list once, with who named it the master', () => {
    const { nodes } = nodesOf('cache-a', sentinels([7001, 1], [7001, 1], [7002, 2]), undefined, as)
    assert.deepEqual(
      nodes.map(({ address, namedMasterBy }) => [address.port, namedMasterBy.length]),
      [
        [7001, 2],
        [7002, 1],
        [7003, 0],
      ],
    )
  })

  it('addresses are mapped, and keep what they were announced as', () => {
    const map = ({ port }: { port: number }) => ({ host: 'proxy', port: port + 1000 })
    const [told] = sentinels([7001, 1])
    const beliefs = told!.beliefs.map((one) => ({ ...one, address: map(one.announced!) }))
    const { master, nodes } = nodesOf('cache-a', [{ ...told!, beliefs }], undefined, map)
    assert.deepEqual(master, { host: 'proxy', port: 8001 })
    assert.deepEqual(nodes[0]!.announced, at(7001))
  })

  it('without sentinels the options say who the master is', () => {
    assert.deepEqual(nodesOf('cache-a', [], at(7001), as).master, at(7001))
    assert.equal(nodesOf('cache-a', [], undefined, as).master, undefined)
  })

  it('a replica is as many bytes behind as its offset is, and never ahead', () => {
    const master = node(7001, { role: 'master', offset: 500 })
    const nodes = withLag([master, node(7002, { offset: 420 }), node(7003, { offset: 501 })], at(7001))
    assert.deepEqual(
      nodes.map((one) => one.lagBytes),
      [0, 80, 0],
    )
  })
})
