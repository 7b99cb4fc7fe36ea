import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A process of its own: a simulated run takes over its clock, its timers and its sockets. */
async function simulator(...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/simulator/main.ts', ...args], { cwd: root })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

/**
 * Always the same runs, so that a change is judged by what it changed, and always all of them, however slow the machine. In
 * two processes, for the processors of a small machine.
 */
const PLAYED = [
  { from: 10_000, seeds: 150 },
  { from: 200_000, seeds: 150 },
]

/** What they found is told in the history of the files they made us change. */
const FOUND_SOMETHING = [
  12, 135, 184, 203, 216, 1173, 2207, 3082, 3260, 3362, 9155, 10008, 20057, 20721, 20777, 22135, 31238, 44080, 44139,
  10077, 50689, 10037, 10087, 115377, 119934, 120238, 212244, 231217,
]

async function allHold(count: number, ...args: string[]): Promise<void> {
  const { code, output } = await simulator(...args)
  assert.equal(code, 0, output)
  assert.match(output, new RegExp(`^${count} runs, `, 'm'), 'none was left out')
}

describe('the fault simulator', () => {
  it('finds nothing that does not hold in 300 runs; others: npm run simulate -- --from 300000 --seeds 1000', async () => {
    await Promise.all(PLAYED.map(({ from, seeds }) => allHold(seeds, '--from', String(from), '--seeds', String(seeds))))
  })

  it('finds nothing any more in runs that once found something', async () => {
    await allHold(FOUND_SOMETHING.length, '--seed', FOUND_SOMETHING.join())
  })

  it('plays one seed the same way every time', async () => {
    const [one, two] = await Promise.all([simulator('--seed', '7', '--packets'), simulator('--seed', '7', '--packets')])
    assert.ok(one.output.split('\n').length > 1_000)
    assert.equal(one.output, two.output)
  })

  it('would notice a pool that runs a write twice, and says how to play that again', async () => {
    const { code, output } = await simulator('--sabotage', '--seeds', '20')
    assert.equal(code, 1)
    assert.match(output, /was executed 2 times/)
    const [, command] = /^replay it with: npm run simulate -- (.*)$/m.exec(output) ?? []
    const [one, two] = await Promise.all([simulator(...command!.split(' ')), simulator(...command!.split(' '))])
    assert.match(one.output, /was executed 2 times/)
    assert.equal(one.output, two.output)
  })
})
