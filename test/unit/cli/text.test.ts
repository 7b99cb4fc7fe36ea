import assert from 'node:assert/strict'
import { it } from 'node:test'
import { linesOf } from '../../../src/cli/lines.js'
import { Progress } from '../../../src/cli/progress.js'
import { bytes, table, wrap } from '../../../src/cli/text.js'

it('a table aligns its columns, whatever colours are in them, and leaves no blanks at the ends of lines', () => {
  assert.equal(
    table([
      ['a', 'b'],
      ['\x1b[31mlong\x1b[39m', 'c'],
      ['x', ''],
    ]),
    'a     b\n\x1b[31mlong\x1b[39m  c\nx',
  )
})

it('a text is broken at blanks, and a word that is too long stands alone', () => {
  assert.equal(wrap('one two three', 9, '  '), '  one two\n  three')
  assert.equal(wrap('a verylongword b', 6), 'a\nverylongword\nb')
})

it('bytes are told in the unit that fits', () => {
  assert.deepEqual([0, 1023, 1536, 5 * 1024 ** 3].map(bytes), ['0 B', '1023 B', '1.5 KiB', '5.0 GiB'])
})

it('lines are put together from chunks that break anywhere, even within a character', async () => {
  const input = Buffer.from('ä\nb\r\nc')
  const chunks = [...input].map((byte) => Uint8Array.of(byte))
  const lines: string[] = []
  const stream = (async function* () {
    yield* chunks
  })()
  for await (const line of linesOf(stream, new AbortController().signal)) lines.push(line)
  assert.deepEqual(lines, ['ä', 'b', 'c'])
})

it('progress is rewritten in place on a terminal, and told ten times where it is not', () => {
  const told = (errIsTerminal: boolean) => {
    let text = ''
    const err = (more: string) => {
      text += more
    }
    const progress = new Progress({ err, errIsTerminal } as never, 'keys')
    for (let i = 0; i <= 100; i++) progress.at(i, 100)
    progress.end()
    return text
  }
  assert.equal(told(false).split('\n').length - 1, 11)
  assert.ok(told(true).endsWith(`[${'#'.repeat(30)}] keys 100 of 100\r\x1b[K`))
})
