import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { RingPlan } from '../../../src/index.js'
import { runCli } from '../../support/run-cli.js'

const folder = mkdtempSync(join(tmpdir(), 'cli-plan-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const now = file('now.json', { masters: ['a', 'b'] })
const next = file('next.json', { masters: ['a', 'b', 'c'] })

describe('plan', () => {
  it('tells by the hash space what a new shard takes, and from whom', async () => {
    const { code, out } = await runCli(['plan', '--from', now, '--to', next, '--json'])
    assert.equal(code, 0)
    const plan = JSON.parse(out) as RingPlan
    assert.equal(plan.basis, 'hash-space')
    assert.ok(plan.moved > 0.25 && plan.moved < 0.42, `moved ${plan.moved}`)
    assert.deepEqual(
      plan.moves.map(({ to }) => to),
      ['c', 'c'],
    )
  })

  it('tells people the same in two tables', async () => {
    const { out } = await runCli(['plan', '--from', now, '--to', next])
    assert.match(out, /^\d\d\.\d % would move \(exact, over the hash space\)\.\n/)
    assert.match(out, /\nSHARD +NOW +THEN +CHANGE\n/)
    assert.match(out, /\nc +0\.0 % +\d\d\.\d % +\+\d\d\.\d %\n/)
    assert.match(out, /\na -> c +\d\d\.\d %\n/)
  })

  it('counts the keys of a file', async () => {
    const keys = file('keys.txt', Array.from({ length: 300 }, (_, i) => `user:${i}`).join('\n'))
    const { out } = await runCli(['plan', '--from', now, '--to', next, '--keys', keys, '--json'])
    const plan = JSON.parse(out) as RingPlan
    assert.deepEqual([plan.basis, plan.keys], ['keys', 300])
    assert.equal(
      plan.moves.reduce((sum, move) => sum + move.keys!, 0),
      Math.round(plan.moved * 300),
    )
  })

  it('two equal configurations move nothing', async () => {
    const { code, out } = await runCli(['plan', '--from', now, '--to', now])
    assert.equal(code, 0)
    assert.match(out, /^0\.0 % would move/)
    assert.ok(!out.includes('MOVE'))
  })

  it('a file that is missing, and two ways to count at once, are usage errors', async () => {
    assert.match((await runCli(['plan', '--from', now])).err, /--to <file> is missing/)
    const both = await runCli(['plan', '--from', now, '--to', next, '--sample', '--keys', 'x'])
    assert.deepEqual([both.code, both.err], [2, 'error: give --sample or --keys, not both\n'])
    assert.match((await runCli(['plan', '--from', now, '--to', next, '--keys', join(folder, 'no')])).err, /ENOENT/)
  })
})
