import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ShardedSentinelPool, UnsupportedCommandError } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'

describe('a shard by its handle', () => {
  let topology: LocalTopology
  let pool: ShardedSentinelPool
  before(async () => {
    topology = await LocalTopology.start({ shards: 1, replicas: 0, sentinels: 0 })
    const master = await topology.currentMaster(topology.masters[0]!)
    pool = new ShardedSentinelPool({ masters: [{ name: 'cache-a', ...master.address }] })
    await pool.connect()
    await pool.set('k', 'v')
  })
  after(async () => {
    await pool?.close()
    await topology?.close()
  })

  it('refuses what would change the connection that everybody shares, and everybody goes on', async () => {
    const [shard] = pool.shards
    const words = [
      ['SUBSCRIBE', 'x'],
      ['MULTI'],
      ['select', '3'],
      ['WATCH', 'k'],
      ['CLIENT', 'REPLY', 'OFF'],
      ['MONITOR'],
      ['HELLO', '2'],
    ]
    for (const command of words) await assert.rejects(shard!.sendCommand(command), UnsupportedCommandError)
    assert.equal(await pool.get('k'), 'v')
  })

  it('lets a command that blocks wait on a connection of its own', async () => {
    const waiting = pool.shards[0]!.sendCommand(['BLPOP', 'list', '5'])
    assert.equal(await pool.get('k'), 'v')
    await pool.rPush('list', 'one')
    assert.deepEqual(await waiting, ['list', 'one'])
    assert.equal(pool.stats().shards[0]?.reconnects, 0)
  })

  it('sends the rest to that very server', async () => {
    assert.equal(await pool.shards[0]!.sendCommand(['GET', 'k'], { readOnly: true }), 'v')
    assert.match(String(await pool.shards[0]!.sendCommand(['INFO', 'server'])), /redis_version/)
  })

  it('takes off what the holder of a leased connection has put on it', async () => {
    const heard: string[] = []
    await pool.use('k', (client) => {
      client.on('custom', () => heard.push('the first holder'))
    })
    await pool.use('k', (client) => {
      client.emit('custom')
    })
    assert.deepEqual(heard, [])
  })
})
