import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resolver } from '../../../src/index.js'
import { resolverContract } from '../../../src/testing/index.js'

const HERE = { host: '10.0.0.1', port: 6379 }
const THERE = { host: '10.0.0.2', port: 6379 }

/** A registry of one master with a resolver over it, which `broken` may spoil. */
function world(broken: (good: Required<Resolver>) => Partial<Resolver> = () => ({})) {
  let address = HERE
  let epoch = 1
  const watchers = new Set<() => void>()
  const make = (): Resolver => {
    const good: Required<Resolver> = {
      resolve: async (name) => (name === 'cache-a' ? { address, epoch } : null),
      watch: (names, onChange) => {
        const tell = () => {
          for (const name of names) onChange(name)
        }
        watchers.add(tell)
        return () => watchers.delete(tell)
      },
      close: () => watchers.clear(),
    }
    return { ...good, ...broken(good) }
  }
  const move = () => {
    address = address === HERE ? THERE : HERE
    epoch++
    for (const tell of watchers) tell()
    return address
  }
  return { make, move, known: { name: 'cache-a', address: HERE }, timeoutMs: 50 }
}

/** The names of the cases that fail. */
async function failing(subject: Parameters<typeof resolverContract>[0]): Promise<string[]> {
  const failed: string[] = []
  for (const { name, run } of resolverContract(subject)) {
    await run().catch(() => failed.push(name))
  }
  return failed
}

test('resolver contract: a good resolver keeps it, also one without watch, close, epochs or moves', async () => {
  assert.deepEqual(await failing(world()), [])
  const plain = world()
  assert.deepEqual(await failing({ ...plain, make: () => ({ resolve: plain.make().resolve }) }), [])
  const { move: _, ...still } = world()
  assert.deepEqual(await failing(still), [])
})

const breaches: [string, (good: Required<Resolver>) => Partial<Resolver>, RegExp][] = [
  ['knows every name', ({ resolve }) => ({ resolve: (_, options) => resolve('cache-a', options) }), /unknown name/],
  [
    'throws for an unknown name',
    ({ resolve }) => ({ resolve: async (name, o) => (await resolve(name, o)) ?? Promise.reject(new Error('who?')) }),
    /unknown name/,
  ],
  ['never answers', () => ({ resolve: () => new Promise(() => {}) }), /known name/],
  ['keeps what it heard first', () => ({ resolve: async (name) => (name === 'cache-a' ? HERE : null) }), /moved/],
  [
    'counts no epochs up',
    ({ resolve }) => ({
      resolve: async (name, o) => {
        const found = await resolve(name, o)
        return found && 'address' in found ? { ...found, epoch: 7 } : found
      },
    }),
    /moved/,
  ],
  ['watches nothing', () => ({ watch: () => () => {} }), /watch/],
  [
    'cannot be stopped',
    ({ watch }) => ({
      watch: async (names, onChange) => {
        await watch(names, onChange)
        return () => {}
      },
    }),
    /watch/,
  ],
  [
    'tells of other names',
    ({ watch }) => ({ watch: (names, onChange) => watch(names, () => onChange('cache-b')) }),
    /watch/,
  ],
  ['hangs in close', () => ({ close: () => new Promise(() => {}) }), /close/],
]
for (const [what, broken, expected] of breaches) {
  test(`resolver contract: one that ${what} breaks it`, async () => {
    const failed = await failing(world(broken))
    assert.ok(
      failed.some((name) => expected.test(name)),
      `failed: ${failed.join('; ')}`,
    )
  })
}
