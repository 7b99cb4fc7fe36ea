import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as zlib from 'node:zlib'
import * as ring from '../../../src/ring/index.js'

/*
 * Runs every snippet of docs/coming-from.md. A line that ends in `// → value` must come to that value. The snippets hold no
 * types, so they run as they stand once their imports are handed in.
 */

const page = readFileSync(new URL('../../../docs/coming-from.md', import.meta.url), 'utf8')
const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'sharded-sentinel-pool/ring': ring as Record<string, unknown>,
  'node:zlib': zlib as unknown as Record<string, unknown>,
}

const snippets = [...page.matchAll(/^## (.+)$|^```ts\n([\s\S]*?)^```$/gm)].reduce<{ title: string; code: string }[]>(
  (list, [, title, code]) => {
    if (title !== undefined) list.push({ title, code: '' })
    else if (code !== undefined) list.push({ title: list.at(-1)!.title, code })
    return list
  },
  [],
)

for (const { title, code } of snippets) {
  if (code === '') continue
  test(`coming from ${title}: the snippet runs and gives what it says`, () => {
    const names: string[] = []
    const values: unknown[] = []
    let checks = 0
    const body = code
      .replace(/^import \{ (.+) \} from '(.+)'$/gm, (_, imported: string, from: string) => {
        for (const name of imported.split(', ')) {
          names.push(name)
          values.push(modules[from]![name])
        }
        return ''
      })
      .replace(/^(.+) \/\/ → (.+)$/gm, (_, expression: string, value: string) => {
        checks++
        return `assert.deepEqual(${expression}, ${value})`
      })
    assert.ok(checks > 0, 'a snippet says at least one result')
    new Function('assert', ...names, body)(assert, ...values)
  })
}

test('coming from: every preset has a snippet and a row in the table', () => {
  const presets = ['murmur3', 'jedis', 'jedis-md5', 'jedis-legacy', 'hashring', 'twemproxy', 'ketama', 'modula']
  for (const preset of [...presets, 'predis', 'redis-rb', 'go-redis', 'phpredis', 'slots']) {
    assert.match(page, new RegExp(`^\\|[^|]*\`${preset}\``, 'm'), preset)
    if (preset !== 'murmur3') assert.ok(page.includes(`preset: '${preset}'`) || page.includes(`'${preset}'`), preset)
  }
})
