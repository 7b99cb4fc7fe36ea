import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

/** Every report that must be answered: the number after the B. */
const IDS = [
  1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 16, 18, 19, 20, 22, 23, 25, 26, 27, 28, 29, 30, 31, 33, 34, 35, 36, 37,
  38, 40, 41, 42, 43, 44, 45, 47, 48, 49, 50, 51, 52, 53, 55, 56, 58, 59, 60, 61, 62, 63, 64, 65, 67, 68, 70, 71, 73,
  74, 75, 77, 80,
].map((number) => `B${String(number).padStart(3, '0')}`)

const root = fileURLToPath(new URL('../../', import.meta.url))
const rows = readFileSync(`${root}test/regression/README.md`, 'utf8')
  .split('\n')
  .filter((line) => /^\| B\d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))

it('every report has one row, and a test or a reason', () => {
  assert.deepEqual(
    rows.map(([, id]) => id),
    IDS,
  )
  for (const [, id, what, test] of rows) assert.ok(what && test, `${id} says nothing`)
})

it('every file that the table names is there', () => {
  for (const [, id, , test] of rows) {
    const files = [...test!.matchAll(/`(test\/[^`]+)`/g)].map((found) => found[1]!)
    assert.ok(files.length > 0 || test!.includes('does not apply'), `${id} names no test`)
    for (const file of files) assert.ok(existsSync(root + file), `${id}: there is no ${file}`)
  }
})

it('every test of this folder is in the table, and carries its ids', () => {
  const files = readdirSync(`${root}test/regression`).filter((file) => /^B.*\.test\.ts$/.test(file))
  for (const file of files) {
    const first = readFileSync(`${root}test/regression/${file}`, 'utf8').split('\n', 1)[0]!
    for (const id of file.match(/B\d{3}/g)!) {
      assert.ok(first.startsWith('// ') && first.includes(id), `${file} does not say on top what ${id} was`)
      const row = rows.find((cells) => cells[1] === id)
      assert.ok(row?.[3]?.includes(`test/regression/${file}`), `${file} is not in the row of ${id}`)
    }
  }
})

describe('the reports that were not on the list', () => {
  const found = readFileSync(`${root}test/regression/README.md`, 'utf8')
    .split('\n')
    .filter((line) => /^\| N\d/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const tests = readdirSync(`${root}test/regression`).filter((file) => /^N.*\.test\.ts$/.test(file))

  it('are numbered without a gap, and each has a public reference, an outcome, and a test that carries its id', () => {
    assert.deepEqual(
      found.map(([, id]) => id),
      found.map((_, i) => `N${String(i + 1).padStart(3, '0')}`),
    )
    assert.ok(found.length >= 40)
    for (const [, id, reports, what, outcome, test] of found) {
      for (const report of reports!.split(', ')) assert.match(report, /^[\w.-]+\/[\w.-]+#\d+$/, id)
      assert.ok(what && outcome, `${id} says nothing`)
      const file = /^`(test\/regression\/N[\w-]+\.test\.ts)`$/.exec(test!)?.[1]
      assert.ok(file !== undefined && existsSync(root + file), `${id}: there is no ${test}`)
      const [first, ...rest] = readFileSync(root + file, 'utf8').split('\n')
      assert.ok(first!.startsWith('// ') && first!.includes(id!), `${file} does not say on top what ${id} was`)
      assert.ok(
        rest.some((line) => line.includes(id!)),
        `${file} has no test of ${id}`,
      )
    }
  })

  it('name every file that begins with N', () => {
    const named = found.map(([, , , , , test]) => test)
    for (const file of tests) assert.ok(named.includes(`\`test/regression/${file}\``), `${file} is in no row`)
  })
})
