import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Flag, readFlags } from '../../../src/cli/flags.js'
import { UsageError } from '../../../src/cli/usage-error.js'

const FLAGS: readonly Flag[] = [
  { name: 'watch', short: 'w', help: '' },
  { name: 'timeout', value: '<ms>', help: '' },
  { name: 'address-map', value: '<from=to>', multiple: true, help: '' },
]
const refuses = (args: string[], pattern: RegExp) =>
  assert.throws(
    () => readFlags(args, FLAGS),
    (error) => error instanceof UsageError && pattern.test(error.message),
  )

describe('flags', () => {
  it('are read in every spelling, words among them', () => {
    const { flags, words } = readFlags(
      ['a', '-w', '--timeout=5', 'b', '--address-map', 'x=y', '--address-map', 'z=q'],
      FLAGS,
    )
    assert.deepEqual(words, ['a', 'b'])
    assert.equal(flags.has('watch'), true)
    assert.equal(flags.number('timeout', 1, 1, 10), 5)
    assert.deepEqual(flags.all('address-map'), ['x=y', 'z=q'])
  })

  it('after "--" everything is a word', () => {
    assert.deepEqual(readFlags(['--', '--watch'], FLAGS).words, ['--watch'])
  })

  it('a typo is answered with the nearest flag', () => {
    refuses(['--wathc'], /no flag '--wathc'; did you mean '--watch'\?/)
    refuses(['--time-out', '5'], /did you mean '--timeout'\?/)
  })

  it('a flag with nothing near it is answered with all of them', () => {
    refuses(['--xyzzyxyzzy'], /known are --watch, --timeout, --address-map/)
  })

  it('a value that is missing, or not wanted, or given twice is told', () => {
    refuses(['--timeout'], /--timeout needs a value: --timeout <ms>/)
    refuses(['--timeout', '--watch'], /--timeout needs a value/)
    refuses(['--watch=1'], /--watch takes no value/)
    refuses(['--timeout', '1', '--timeout', '2'], /--timeout is given twice/)
  })

  it('a number out of bounds, or none at all, is told with the bounds', () => {
    const { flags } = readFlags(['--timeout', '1e3'], FLAGS)
    assert.throws(() => flags.number('timeout', 1, 1, 10), /--timeout must be a whole number from 1 to 10, not '1e3'/)
    assert.equal(readFlags([], FLAGS).flags.number('timeout', 7, 1, 10), 7)
  })
})
