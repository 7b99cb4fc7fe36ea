import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Instance, parseInstance, type SentinelView, unsettled } from '../../../src/testing/settled.js'

const EXPECTED = { master: 1, replicas: [2], sentinels: [11, 12] }

function replica(changes: Instance = {}): Instance {
  return { port: '2', flags: 'slave', 'master-link-status': 'ok', 'master-port': '1', ...changes }
}

function view(changes: Partial<SentinelView> = {}): SentinelView {
  return {
    sentinel: 'sentinel/0',
    name: 'cache-a',
    master: { port: '1', flags: 'master' },
    replicas: [replica()],
    sentinels: [
      { port: '11', flags: 'sentinel' },
      { port: '12', flags: 'sentinel' },
    ],
    ...changes,
  }
}

describe('unsettled', () => {
  it('finds nothing missing in a whole and healthy view', () => {
    assert.deepEqual(unsettled(view(), EXPECTED), [])
  })

  it('leaves out nodes that are known and not expected, such as dead ones', () => {
    const dead = replica({ port: '3', flags: 's_down,slave' })
    assert.deepEqual(unsettled(view({ replicas: [replica(), dead] }), EXPECTED), [])
  })

  it('takes a peer that remembers the last failure of the master for healthy', () => {
    const sentinels = [
      { port: '11', flags: 'sentinel,master_down' },
      { port: '12', flags: 'sentinel' },
    ]
    assert.deepEqual(unsettled(view({ sentinels }), EXPECTED), [])
  })

  const cases: [string, Partial<SentinelView>, RegExp][] = [
    ['another master', { master: { port: '2', flags: 'master' } }, /master is :2, not :1/],
    ['a master held to be down', { master: { port: '1', flags: 's_down,master' } }, /master flags s_down,master/],
    ['an unknown replica', { replicas: [] }, /does not know replica :2/],
    ['a replica held to be down', { replicas: [replica({ flags: 's_down,slave' })] }, /flags s_down,slave/],
    ['a replica without a link', { replicas: [replica({ 'master-link-status': 'err' })] }, /link err/],
    ['a replica of another master', { replicas: [replica({ 'master-port': '9' })] }, /of :9/],
    ['an unknown sentinel', { sentinels: [{ port: '11', flags: 'sentinel' }] }, /does not know sentinel :12/],
    [
      'a sentinel it has no link to',
      {
        sentinels: [
          { port: '11', flags: 'sentinel,disconnected' },
          { port: '12', flags: 'sentinel' },
        ],
      },
      /:11 flags sentinel,disconnected/,
    ],
  ]
  for (const [what, changes, sentence] of cases) {
    it(`names ${what}`, () => {
      const missing = unsettled(view(changes), EXPECTED)
      assert.equal(missing.length, 1)
      assert.match(missing[0]!, /^sentinel\/0 on cache-a: /)
      assert.match(missing[0]!, sentence)
    })
  }
})

describe('parseInstance', () => {
  it('reads the flat list of fields and values, and anything else as no fields', () => {
    assert.deepEqual(parseInstance(['port', '1', 'flags', 'master']), { port: '1', flags: 'master' })
    assert.deepEqual(parseInstance(null), {})
  })
})
