import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Address } from '../../src/address.js'
import { RoleMismatchError, UnknownMasterError } from '../../src/errors.js'
import { ConnectionFactory } from '../../src/redis-client.js'
import { CustomSource, type Resolver, StaticSource } from '../../src/sentinel/index.js'
import { FakeNode } from '../support/fake-node.js'
import { attempt } from '../support/fake-sentinel-world.js'

async function node(t: TestContext, role: 'master' | 'slave' = 'master'): Promise<FakeNode> {
  const fake = await FakeNode.listen(role)
  t.after(() => fake.close())
  return fake
}

const common = {
  dataFactory: new ConnectionFactory(),
  connectTimeoutMs: 500,
  mapAddress: (address: Address) => address,
  connectionName: () => undefined,
}

function custom(t: TestContext, resolver: Resolver, errors: Error[] = []): CustomSource {
  const source = new CustomSource({ ...common, resolver, onError: (error) => errors.push(error) })
  t.after(() => source.close())
  return source
}

test('static source: an address is proved by ROLE all the same', async (t) => {
  const a = await node(t)
  const source = new StaticSource({ ...common, addresses: new Map([['s0', a.address]]) })
  const found = await source.resolve('s0', attempt())
  assert.deepEqual([found.address, found.namedBy], [a.address, 'static'])
  found.connection.destroy()
  a.role = 'slave'
  await assert.rejects(source.resolve('s0', attempt()), RoleMismatchError)
  await assert.rejects(source.resolve('s1', attempt()), UnknownMasterError)
  const looked = await source.lookup(['s0', 's1'], attempt())
  assert.deepEqual(looked.get('s0'), { address: a.address, namedBy: 'static' })
  assert.ok(looked.get('s1') instanceof UnknownMasterError)
})

test('custom source: an address or one with an epoch, at once or later', async (t) => {
  const a = await node(t)
  const source = custom(t, {
    resolve: (name) => (name === 'now' ? a.address : Promise.resolve({ address: a.address, epoch: 5 })),
  })
  for (const [name, epoch] of [
    ['now', undefined],
    ['later', 5],
  ] as const) {
    const found = await source.resolve(name, attempt())
    assert.deepEqual([found.address, found.configEpoch, found.namedBy], [a.address, epoch, 'resolver'])
    found.connection.destroy()
  }
})

test('custom source: what it names is no master before ROLE says so', async (t) => {
  const b = await node(t, 'slave')
  await assert.rejects(custom(t, { resolve: () => b.address }).resolve('s0', attempt()), RoleMismatchError)
})

test('custom source: null is an unknown name, nonsense and throwing are errors of the attempt', async (t) => {
  await assert.rejects(custom(t, { resolve: () => null }).resolve('s0', attempt()), UnknownMasterError)
  const nonsense = { host: 'h', port: 0 }
  await assert.rejects(custom(t, { resolve: () => nonsense }).resolve('s0', attempt()), /no address/)
  const broken: Resolver = {
    resolve: () => {
      throw new Error('consul is down')
    },
  }
  await assert.rejects(custom(t, broken).resolve('s0', attempt()), /consul is down/)
  const looked = await custom(t, broken).lookup(['s0'], attempt())
  assert.match(String(looked.get('s0')), /consul is down/)
})

test('custom source: one that hangs ends with the attempt, and its signal tells it', async (t) => {
  let seen: AbortSignal | undefined
  const source = custom(t, {
    resolve: (_, { signal }) => {
      seen = signal
      return new Promise<Address>(() => {})
    },
  })
  await assert.rejects(source.resolve('s0', attempt(30)), /no answer for 's0' within 30 ms/)
  assert.equal(seen?.aborted, true)
  const abort = new AbortController()
  const waiting = source.resolve('s0', { signal: abort.signal, timeoutMs: 60_000 })
  abort.abort(new Error('enough'))
  await assert.rejects(waiting, /enough/)
})

test('custom source: a watch tells of our names, and is stopped once, also when it starts late', async (t) => {
  const heard: string[] = []
  let stops = 0
  let tell = (_: string) => {}
  let begin = (_: () => void) => {}
  const source = custom(t, {
    resolve: () => null,
    watch: (_, onChange) => {
      tell = onChange
      return new Promise((resolve) => {
        begin = resolve
      })
    },
  })
  const stop = source.watch(['s1'], (name) => heard.push(name))
  await turn()
  tell('s1')
  tell('s10')
  stop()
  tell('s1')
  assert.equal(stops, 0)
  begin(() => stops++)
  await turn()
  stop()
  assert.deepEqual([heard, stops], [['s1'], 1])
})

test('custom source: trouble in watch and close is reported, not thrown', async (t) => {
  const errors: Error[] = []
  const source = custom(
    t,
    {
      resolve: () => null,
      watch: () => Promise.reject(new Error('no watch today')),
      close: () => {
        throw new Error('cannot close')
      },
    },
    errors,
  )
  source.watch(['s0'], () => {})()
  source.watch(['s0'], () => {})
  source.close()
  source.close()
  await turn()
  assert.deepEqual(errors.map((e) => e.message).sort(), [
    "the resolver's close failed: cannot close",
    "the resolver's watch failed: no watch today",
  ])
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
