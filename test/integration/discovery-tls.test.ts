import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LocalTopology } from '../../src/testing/index.js'
import { keyOf, poolOn } from '../support/pool-on-topology.js'
import { socketsTo } from '../support/sockets.js'
import { nextEvent } from '../support/waiting.js'

describe('TLS on both kinds of server, with a certificate for redis.test only', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ tls: { data: true, sentinels: true, names: ['redis.test'] } })
  })
  after(() => topology?.close())

  const secure = (servername?: string) => ({
    socket: { tls: true as const, ca: topology.tls!.ca, ...(servername === undefined ? {} : { servername }) },
  })

  it('each kind has its own settings, and a failover keeps them', async (t) => {
    const pool = poolOn(topology, { client: secure('redis.test'), sentinelClient: secure('redis.test') })
    t.after(() => pool.destroy())
    await pool.connect()
    const key = keyOf(pool, topology.masters[0]!)
    await pool.set(key, 'before')
    const failover = nextEvent(pool, 'failover')
    const { to } = await topology.failover(topology.masters[0]!, { until: 'agreed' })
    assert.equal((await failover).to.port, to.port)
    assert.equal(await pool.set(key, 'after'), 'OK')
    assert.equal(await to.command('GET', key), 'after')
  })

  it('a sentinel whose certificate names another host is named with that failure, and nothing goes on without TLS', async () => {
    const pool = poolOn(topology, {
      client: secure('redis.test'),
      sentinelClient: secure(),
      connectDeadlineMs: 300,
    })
    const before = topology.sentinelNodes.map((node) => socketsTo(node.port))
    await assert.rejects(pool.connect(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'SENTINELS_UNREACHABLE')
      for (const { port } of topology.sentinels)
        assert.match(error.message, new RegExp(`127.0.0.1:${port}: ERR_TLS_CERT`))
      return true
    })
    assert.deepEqual(
      topology.sentinelNodes.map((node) => socketsTo(node.port)),
      before,
    )
  })

  it('a data node whose certificate names another host is named with that failure', async () => {
    const pool = poolOn(topology, {
      client: secure(),
      sentinelClient: secure('redis.test'),
      connectDeadlineMs: 300,
    })
    const { port } = await topology.currentMaster(topology.masters[0]!)
    await assert.rejects(pool.connect(), (error: Error & { code?: string; why?: string }) => {
      assert.equal(error.code, 'MASTER_UNREACHABLE')
      assert.match(String(error.why), /ERR_TLS_CERT/)
      assert.match(error.message, new RegExp(`127.0.0.1:${port}`))
      return true
    })
  })
})
