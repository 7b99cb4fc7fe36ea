import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidOptionsError } from '../../../src/errors.js'
import { createRing, planRing, type Ring, type RingOptions } from '../../../src/ring/index.js'

const names = (count: number) => Array.from({ length: count }, (_, i) => `cache-${i}`)

/** What the same plan comes to when it is counted out over many keys. */
function counted(from: Ring, to: Ring, total: number): Map<string, number> {
  const flows = new Map<string, number>()
  for (let i = 0; i < total; i++) {
    const a = from.shards[from.locate(`key:${i}`)]!.name
    const b = to.shards[to.locate(`key:${i}`)]!.name
    if (a !== b) flows.set(`${a}>${b}`, (flows.get(`${a}>${b}`) ?? 0) + 1 / total)
  }
  return flows
}

function agreesWithKeys(from: Ring, to: Ring): void {
  const total = 30_000
  const plan = planRing(from, to)
  const flows = counted(from, to, total)
  for (const move of plan.moves) {
    const seen = flows.get(`${move.from}>${move.to}`) ?? 0
    assert.ok(Math.abs(seen - move.share) < 5 * Math.sqrt(move.share / total) + 5 / total, JSON.stringify(move))
    flows.delete(`${move.from}>${move.to}`)
  }
  if (plan.basis === 'hash-space') assert.equal(flows.size, 0, 'keys move where the plan has no move')
}

const PAIRS: [string, (shards: string[]) => RingOptions][] = [
  ['murmur3', (shards) => ({ shards })],
  ['jedis by label', (shards) => ({ shards, preset: 'jedis', naming: 'label' })],
  ['ketama', (shards) => ({ shards, preset: 'ketama', hash: 'murmur' })],
  ['modula', (shards) => ({ shards, preset: 'modula', hash: 'crc32a' })],
  ['predis', (shards) => ({ shards, preset: 'predis' })],
  ['phpredis', (shards) => ({ shards, preset: 'phpredis' })],
  ['slots', (shards) => ({ shards, preset: 'slots' })],
  ['go-redis 9', (shards) => ({ shards, preset: 'go-redis', version: 9 })],
]

for (const [name, options] of PAIRS) {
  test(`planRing: adding and removing shards of ${name} is told as keys really move`, () => {
    const three = createRing(options(names(3)))
    const four = createRing(options(names(4)))
    const other = createRing(options(['cache-1', 'new', 'cache-2']))
    agreesWithKeys(three, four)
    agreesWithKeys(four, three)
    agreesWithKeys(three, other)
  })
}

test('planRing: a new shard of the default ring takes keys from all the others and gives none', () => {
  const plan = planRing(createRing({ shards: names(4) }), createRing({ shards: names(5) }))
  assert.equal(plan.basis, 'hash-space')
  assert.equal(plan.keys, undefined)
  assert.deepEqual(new Set(plan.moves.map((move) => move.to)), new Set(['cache-4']))
  assert.deepEqual(plan.moves.map((move) => move.from).sort(), names(4))
  const added = plan.shards.find((shard) => shard.name === 'cache-4')!
  assert.equal(added.before, 0)
  assert.ok(Math.abs(added.after - plan.moved) < 1e-12 && plan.moved <= 1.15 / 5)
})

test('planRing: what every shard has before and after are the shares of the two rings', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(weights, weights, (before, after) => {
      const ring = (list: number[]) => createRing({ shards: list.map((weight, i) => ({ name: `s${i}`, weight })) })
      const [from, to] = [ring(before), ring(after)]
      const plan = planRing(from, to)
      for (const [side, picture] of [
        ['before', from.describe()],
        ['after', to.describe()],
      ] as const) {
        for (const shard of picture.shards) {
          const change = plan.shards.find((s) => s.name === shard.name)!
          assert.ok(Math.abs(change[side] - shard.share!) < 1e-12)
        }
      }
    }),
    { numRuns: 40 },
  )
})

test('planRing: shards are matched by name, so another order of the list or another label may move keys or none', () => {
  const straight = createRing({ shards: names(3) })
  assert.deepEqual(planRing(straight, createRing({ shards: names(3).reverse() })).moves, [])
  const jedis = (shards: string[]) => createRing({ preset: 'jedis', shards })
  const trap = planRing(jedis(names(3)), jedis(names(3).reverse()))
  assert.ok(trap.moved > 0.5, 'position-named rings mix up data when the list is given in another order')
  const renamed = createRing({ shards: names(3).map((label, i) => ({ name: `new-${i}`, label })) })
  assert.ok(Math.abs(planRing(straight, renamed).moved - 1) < 1e-12)
})

test('planRing: rings that hash keys differently are told as what is to be expected', () => {
  const plan = planRing(createRing({ preset: 'jedis', shards: names(4) }), createRing({ shards: names(4) }))
  assert.equal(plan.basis, 'expected')
  assert.ok(Math.abs(plan.moved - 0.75) < 0.02)
  const tagged = createRing({ preset: 'ketama', shards: names(2), hashTag: '{}' })
  assert.equal(planRing(createRing({ preset: 'ketama', shards: names(2) }), tagged).basis, 'expected')
})

test('planRing: given keys are counted, one by one', () => {
  const from = createRing({ shards: names(3) })
  const to = createRing({ shards: names(4) })
  const keys = Array.from({ length: 1000 }, (_, i) => (i % 2 ? `user:${i}` : Buffer.from(`user:${i}`)))
  const plan = planRing(from, to, { keys })
  assert.equal(plan.basis, 'keys')
  assert.equal(plan.keys, 1000)
  const expected = keys.filter((key) => from.locate(key) !== to.locate(key)).length
  assert.equal(
    plan.moves.reduce((sum, move) => sum + move.keys!, 0),
    expected,
  )
  assert.ok(Math.abs(plan.moved - expected / 1000) < 1e-12)
})

test('planRing: a ring that is a function can only be planned by keys', () => {
  const byHand = createRing({ shards: names(2), ring: (key) => key.length % 2 })
  const ring = createRing({ shards: names(2) })
  assert.throws(() => planRing(byHand, ring), InvalidOptionsError)
  assert.throws(() => planRing(byHand, ring, { keys: [] }), InvalidOptionsError)
  assert.equal(planRing(byHand, ring, { keys: new Set(['a', 'bb', 'ccc']) }).keys, 3)
})

test('planRing: what is no ring and what is no list of keys is named', () => {
  const ring = createRing({ shards: names(2) })
  const refuses = (args: unknown[], option: string, message: RegExp) =>
    assert.throws(() => planRing(...(args as Parameters<typeof planRing>)), {
      code: 'INVALID_OPTIONS',
      option,
      message,
    })
  refuses([ring], 'to', /wants two rings made by createRing; 'to' is none/)
  refuses([ring, {}], 'to', /two rings/)
  refuses([null, ring], 'from', /'from' is none/)
  refuses([ring, ring, null], 'options', /an object/)
  refuses([ring, ring, { kyes: ['a'] }], 'kyes', /no option 'kyes'; did you mean 'keys'/)
  for (const keys of ['user:1', Buffer.from('user:1'), 7, null, {}]) refuses([ring, ring, { keys }], 'keys', /a list/)
  assert.equal(planRing(ring, ring, { keys: undefined }).moved, 0)
})
