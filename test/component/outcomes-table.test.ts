import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import type { PoolOptions } from '../../src/options.js'
import { ErrorReply } from '../../src/redis-client.js'
import { ending, type FakeWorld, fakeWorld, OwnLag } from '../support/fake-world.js'
import { nextEvent, until } from '../support/waiting.js'

/** Plays every row of the README's table of outcomes, so that it cannot say what is not so. */
const TIMEOUT_MS = 1_000
/** Between the trouble and its end: longer than a call that rejects at once takes. */
const HEAL_MS = 300

interface Row {
  readonly what: string
  readonly read: string
  readonly write: string
  readonly late: string
}

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const section = readme.slice(readme.indexOf('### What is sent again, and what is not'))
const rows = section
  .slice(section.indexOf('| what happened'), section.indexOf('`outcome: '))
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line): Row => {
    const [what, read, write, late] = line
      .split(/(?<!\\)\|/)
      .slice(1)
      .map((cell) => cell.trim())
    return { what: what!, read: read!, write: write!, late: late! }
  })

const words = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
const codesOf = (cell: string) => words(cell).filter((word) => /^[A-Z_]+$/.test(word))
const outcomeOf = (cell: string) => words(cell).find((word) => ['not-sent', 'unknown'].includes(word))
const isRepeated = (cell: string) => /waits|sent again/.test(cell)

/** What makes the row happen, and ends it. `word` is one of those that the row names. */
interface Player {
  readonly options?: Partial<PoolOptions>
  readonly each?: boolean
  begin(world: FakeWorld, word: string): unknown
  end(world: FakeWorld): unknown
  /** When it ends. @default after `HEAL_MS` */
  until?(world: FakeWorld): Promise<void>
  /** How often the command runs where it is sent again. @default once */
  readonly runs?: 'again'
  call?(world: FakeWorld): Promise<unknown>
}

const refusal: Player = {
  each: true,
  begin: ({ master }, word) => {
    master.refusal = `${word} for the test`
  },
  end: ({ master }) => {
    master.refusal = undefined
  },
}

const players: [start: string, player: Player][] = [
  [
    'the shard has no master',
    {
      begin: async ({ pool, master }) => {
        const down = nextEvent(pool, 'shard-down')
        await master.close()
        await down
      },
      end: ({ master }) => master.server.listen(),
    },
  ],
  [
    'too many calls wait',
    {
      options: { maxInFlight: 2, commandTimeoutMs: 2 * TIMEOUT_MS },
      begin: ({ pool, key, master }) => {
        master.silent = true
        for (let i = 0; i < 8; i++) void ending(pool.incr(key))
      },
      end: ({ master }) => {
        master.silent = false
      },
    },
  ],
  ['refused', refusal],
  [
    'connection lost after it was sent',
    {
      begin: ({ master }) => {
        master.breaksAfter = 1
      },
      end: ({ master }) => {
        master.breaksAfter = undefined
      },
      until: ({ master }) => until('the first run', () => master.count('GET') + master.count('SET') > 0),
      runs: 'again',
    },
  ],
  [
    'no answer by the deadline',
    {
      begin: ({ master }) => {
        for (const verb of ['GET', 'SET']) master.mute.add(verb)
      },
      end: () => {},
    },
  ],
  [
    'a blocking command, or a lease',
    {
      begin: (world) => {
        setTimeout(() => {
          world.promote()
          world.tell()
        }, 100)
      },
      end: () => {},
      call: ({ pool, key }) => pool.blPop(key, 0),
    },
  ],
  [
    'any other error reply',
    { ...refusal, each: false, begin: ({ master }) => (master.refusal = 'WRONGTYPE for the test') },
  ],
]

const playerOf = ({ what }: Row) => players.find(([start]) => what.startsWith(start))?.[1]

async function begun(t: TestContext, player: Player, word: string, retry: 'safe' | 'never'): Promise<FakeWorld> {
  const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS, retry, ...player.options })
  await player.begin(world, word)
  return world
}

type Failure = { code?: string; outcome?: string }

function assertEnd(cell: string, error: unknown, of: string): void {
  if (cell === 'yours' || cell.startsWith("the server's own reply")) {
    assert.ok(error instanceof ErrorReply, `${of}: ${String(error)}`)
    return
  }
  const { code, outcome } = (error ?? {}) as Failure
  const isSaid = cell
    .split(';')
    .some((one) => codesOf(one).includes(code!) && [undefined, outcome].includes(outcomeOf(one)))
  assert.ok(isSaid, `${of}: '${cell}', and it was ${String(error)}`)
}

describe("the README's table of outcomes", () => {
  it('has the rows that are played here, and no others', () => {
    assert.deepEqual(
      rows.filter((row) => playerOf(row) === undefined).map(({ what }) => what),
      [],
    )
    for (const [start] of players)
      assert.ok(
        rows.some(({ what }) => what.startsWith(start)),
        start,
      )
  })

  for (const row of rows) {
    const player = playerOf(row)
    if (player === undefined) continue
    const troubles = player.each === true ? codesOf(row.what) : ['']
    for (const word of troubles) {
      for (const kind of ['read', 'write'] as const) {
        const cell = row[kind]
        const verb = kind === 'read' ? 'GET' : 'SET'
        const call =
          player.call ?? (({ pool, key }) => (kind === 'read' ? pool.get(key) : pool.set(key, 'v')) as Promise<unknown>)
        const name = `${row.what}${word && ` (${word})`}, a ${kind}`

        it(`${name}: ${cell}`, async (t) => {
          const world = await begun(t, player, word, 'safe')
          const lag = new OwnLag()
          const ended = ending(call(world))
          await (player.until?.(world) ?? new Promise((resolve) => setTimeout(resolve, HEAL_MS)))
          await player.end(world)
          const { error, tookMs } = await ended
          const ownMs = lag.stop()
          assert.ok(tookMs <= TIMEOUT_MS + 150 + ownMs, `${tookMs} ms`)
          if (isRepeated(cell)) {
            assert.equal(error, undefined, String(error))
            const runs = world.master.count(verb)
            assert.ok(player.runs === 'again' ? runs >= 2 : runs === 1, `ran ${runs} times`)
          } else {
            assertEnd(cell === 'rejects at once' ? row.late : cell, error, name)
            if (cell.includes('at once')) assert.ok(tookMs < HEAL_MS + ownMs, `${tookMs} ms`)
            // A read may have been sent again for the little time that was left.
            assert.ok(world.master.count(verb) <= (kind === 'read' ? 2 : 1))
          }
        })

        if (!isRepeated(cell)) continue
        it(`${name}, and time is up: ${row.late}`, async (t) => {
          const world = await begun(t, player, word, 'safe')
          const lag = new OwnLag()
          const { error, tookMs } = await ending(call(world))
          assert.ok(tookMs <= TIMEOUT_MS + 150 + lag.stop(), `${tookMs} ms`)
          assertEnd(row.late, error, name)
        })

        if (cell === 'waits') continue
        it(`${name}, and retry is 'never': at once, as when time is up`, async (t) => {
          const world = await begun(t, player, word, 'never')
          const lag = new OwnLag()
          const { error, tookMs } = await ending(call(world))
          assert.ok(tookMs < HEAL_MS + lag.stop(), `${tookMs} ms`)
          assertEnd(row.late, error, name)
          assert.ok(world.master.count(verb) <= 1)
        })
      }
    }
  }

  it("with retry 'always' a write that may have run is sent again, and may run twice", async (t) => {
    const world = await fakeWorld(t, { commandTimeoutMs: TIMEOUT_MS })
    world.master.breaksAfter = 1
    const write = world.pool.withCommandOptions({ retry: 'always' }).set(world.key, 'v')
    await until('the first run', () => world.master.count('SET') >= 1)
    world.master.breaksAfter = undefined
    assert.equal(await write, 'OK')
    assert.ok(world.master.count('SET') >= 2)
  })
})
