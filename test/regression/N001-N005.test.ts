// N001, N002, N003, N004, N005: a command without a reply, or one that could not be sent, and the next caller got another's reply or hung.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UnsupportedCommandError } from '../../src/index.js'
import { ending, type FakeWorld, fakeWorld } from '../support/fake-world.js'

type Words = readonly string[]

/** Every way by which words of the caller's own may reach the connection that all calls share. */
const WAYS: Readonly<Record<string, (world: FakeWorld, words: Words) => Promise<unknown>>> = {
  'sendCommand(words)': ({ pool }, words) => pool.sendCommand([...words]),
  'sendCommand(key, words)': ({ pool, key }, words) => pool.sendCommand(key, [...words]),
  'shards[0].sendCommand(words)': ({ pool }, words) => pool.shards[0]!.sendCommand(words),
  'multi().addCommand(words)': ({ pool, key }, words) =>
    pool
      .multi()
      .get(key)
      .addCommand([...words])
      .exec(),
  'pipeline().addCommand(words)': ({ pool, key }, words) =>
    pool
      .pipeline()
      .get(key)
      .addCommand([...words])
      .exec(),
}

/** The shared connection of `cache-a` still gives each call its own reply. */
async function inPlace({ pool, key }: FakeWorld): Promise<void> {
  const replies = await Promise.all([
    pool.set(key, 'mine'),
    pool.get(key),
    pool.incr(`${key}:n`).catch(() => 'n'),
    pool.get(key),
  ])
  assert.deepEqual([replies[0], replies[1], replies[3]], ['OK', 'mine', 'mine'])
}

async function refused(world: FakeWorld, commands: readonly Words[]): Promise<void> {
  for (const [way, send] of Object.entries(WAYS)) {
    for (const words of commands) {
      await assert.rejects(send(world, words), UnsupportedCommandError, `${way}: ${words.join(' ')}`)
    }
  }
  await inPlace(world)
  const sent = world.master.server.commands.map(([verb]) => verb)
  for (const [verb] of commands) assert.ok(!sent.includes(verb!.toUpperCase()), `${verb} was sent`)
}

describe('the connection that everybody shares', () => {
  it('N001: what makes replies cease, or turns the connection into a stream, is refused on every way', async (t) => {
    const world = await fakeWorld(t)
    await refused(world, [
      ['CLIENT', 'REPLY', 'OFF'],
      ['client', 'reply', 'skip'],
      ['MONITOR'],
      ['SYNC'],
      ['PSYNC', '?', '-1'],
      ['REPLCONF', 'ACK', '0'],
      ['SUBSCRIBE', 'channel'],
      ['RESET'],
      ['QUIT'],
    ])
  })

  it('N002: UNSUBSCRIBE, which is answered elsewhere, and an empty command, which is not answered at all', async (t) => {
    const world = await fakeWorld(t)
    await refused(world, [['UNSUBSCRIBE'], ['PUNSUBSCRIBE', 'p*'], ['SUNSUBSCRIBE', 'channel']])
    await world.pool.unsubscribe()
    await world.pool.unsubscribe('never-subscribed')
    await assert.rejects(world.pool.sendCommand([]), TypeError)
    await assert.rejects(world.pool.shards[0]!.sendCommand([]), TypeError)
    await inPlace(world)
    assert.equal(world.pool.stats().shards[0]!.generation, 1)
  })

  it('N003: AUTH and HELLO, whose refusal some servers do not tell behind other commands', async (t) => {
    const world = await fakeWorld(t)
    await refused(world, [
      ['AUTH', 'wrong'],
      ['HELLO', '3', 'AUTH', 'default', 'wrong'],
    ])
  })

  it('N004: a command with an argument missing is refused alone, and the ones after it are answered', async (t) => {
    const { pool, key, ...world } = await fakeWorld(t)
    const bad = [
      (pool as unknown as { hmGet(key: string): Promise<unknown> }).hmGet(key),
      pool.set(key, undefined as never),
      pool.expire(key, undefined as never),
      pool
        .multi()
        .set(key, 'never')
        .set(key, undefined as never)
        .exec(),
    ]
    const good = pool.set(key, 'v')
    for (const { error } of await Promise.all(bad.map(ending))) assert.ok(error instanceof TypeError, String(error))
    assert.equal(await good, 'OK')
    assert.deepEqual(world.master.executed, [['SET', key, 'v']])
    assert.equal(world.master.server.accepted, 1)
  })

  it('N005: a number among raw words rejects that call, and is thrown nowhere else', async (t) => {
    const { pool, key, ...world } = await fakeWorld(t)
    const calls = [
      pool.sendCommand(['SET', key, 1 as never]),
      pool.shards[0]!.sendCommand(['SET', key, 1 as never]),
      pool
        .pipeline()
        .addCommand(['SET', key, 1 as never])
        .exec(),
      pool.use(key, (client) => client.sendCommand(['SET', key, 1 as never])),
    ]
    for (const { error } of await Promise.all(calls.map(ending))) assert.ok(error instanceof TypeError, String(error))
    assert.equal(await pool.set(key, 'v'), 'OK')
    assert.equal(world.master.count('SET'), 1)
  })
})
