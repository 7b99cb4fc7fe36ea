import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { commandNames, lookUpCommand } from '../../../src/commands/command-table.js'
import type { Join } from '../../../src/commands/joins.js'
import { type Route, routeOf } from '../../../src/commands/routes.js'

/**
 * The tables of docs/commands.md are written from the routes themselves. `UPDATE_DOCS=1 npx tsx --test <this file>` writes
 * them; without it the test compares.
 */
const file = new URL('../../../docs/commands.md', import.meta.url)
const BEGIN = '<!-- tables: written by test/unit/commands/docs-commands.test.ts -->'
const END = '<!-- end of tables -->'

const JOINED: Readonly<Record<Join, string>> = {
  'default-keyless': 'lists one after the other',
  all_succeeded: 'the one answer; an error if any shard failed',
  one_succeeded: 'the first answer that is no error',
  agg_sum: 'the sum',
  agg_min: 'the least',
  agg_max: 'the greatest',
  agg_logical_and: 'true where all shards say so',
  agg_logical_or: 'true where one shard says so',
  same: 'the one answer; `MultiShardError` with all answers where shards differ',
  same_pairs: 'the one answer, whatever the order of its pairs; `MultiShardError` with all answers where shards differ',
  text: 'the texts one after the other, each under a line `# shard <name>`',
  lines: 'the texts one after the other',
  random: 'one of the answers, by chance',
  union: 'each entry once',
  counts: 'counts added up per name',
}

const routes = commandNames()
  .map((name) => {
    const [command, sub] = name.split(' ') as [string, string | undefined]
    return { name, facts: lookUpCommand(command, sub)!, route: routeOf(lookUpCommand(command, sub)) }
  })
  .filter(({ facts }) => !facts.flags.has('container') && !facts.name.endsWith(' HELP'))

function listOf(pick: (route: Route) => boolean): string {
  return routes
    .filter(({ route }) => pick(route))
    .map(({ name }) => `\`${name}\``)
    .join(', ')
}

function render(): string {
  const joins = [...new Set(routes.flatMap(({ route }) => (route.kind === 'all' ? [route.join] : [])))].sort()
  const hints = [...new Set(routes.flatMap(({ route }) => (route.kind === 'refused' ? [route.hint] : [])))]
  return [
    '### To the shard of their keys',
    '',
    `All keys on one shard, else \`CrossShardError\`. ${routes.filter(({ route }) => route.kind === 'keyed').length} commands:`,
    '',
    listOf((route) => route.kind === 'keyed' && !route.blocking),
    '',
    'The same on a connection of their own, since the server may make them wait (`XREAD` and `XREADGROUP` only with `BLOCK`):',
    '',
    listOf((route) => route.kind === 'keyed' && route.blocking),
    '',
    '### Split over the shards of their keys',
    '',
    '| command | answer |',
    '| --- | --- |',
    ...routes
      .filter(({ route }) => route.kind === 'split')
      .map(
        ({ name, facts }) =>
          `| \`${name}\` | ${facts.response === 'default-keyed' ? 'one entry per key, in your order' : JOINED[facts.response as Join]} |`,
      ),
    '',
    '### To all shards',
    '',
    '| answer | commands |',
    '| --- | --- |',
    ...joins.map((join) => `| ${JOINED[join]} | ${listOf((route) => route.kind === 'all' && route.join === join)} |`),
    '',
    '### Elsewhere',
    '',
    '| where | commands |',
    '| --- | --- |',
    `| the shard of the channel | ${listOf((route) => route.kind === 'channel')} |`,
    `| shard after shard, behind one cursor | ${listOf((route) => route.kind === 'scan')} |`,
    `| whoever answers first, for every server says the same | ${listOf((route) => route.kind === 'any')} |`,
    '',
    '### Refused, with `UnsupportedCommandError`',
    '',
    '| why | commands |',
    '| --- | --- |',
    ...hints.map((hint) => `| ${hint} | ${listOf((route) => route.kind === 'refused' && route.hint === hint)} |`),
  ].join('\n')
}

test('docs/commands.md tells of every command what the router does with it', () => {
  const text = readFileSync(file, 'utf8')
  const [before, rest] = text.split(BEGIN) as [string, string]
  const [, after] = rest.split(END) as [string, string]
  const wanted = `${before}${BEGIN}\n\n${render()}\n\n${END}${after}`
  if (process.env.UPDATE_DOCS) writeFileSync(file, wanted)
  else assert.equal(text, wanted)
  assert.ok(routes.length > 400)
})
