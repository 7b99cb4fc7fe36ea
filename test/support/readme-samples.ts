import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const ENTRIES: Readonly<Record<string, string>> = {
  'sharded-sentinel-pool': 'src/index.js',
  'sharded-sentinel-pool/ring': 'src/ring/index.js',
  'sharded-sentinel-pool/testing': 'src/testing/index.js',
}

/** The text of README.md. */
export const readme = readFileSync(`${root}README.md`, 'utf8')

/** The TypeScript samples of README.md, in order, as written. */
export const samples: readonly string[] = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((block) => block[1]!)

/**
 * Writes the samples as modules of their own that use this repository's source. A sample that makes no pool is given one,
 * of the masters and sentinels in the environment, and it is closed after it.
 */
export function writeSamples(): Disposable & { readonly files: readonly string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'readme-samples-'))
  const files = samples.map((sample, i) => {
    const file = join(folder, `sample-${i}.mts`)
    writeFileSync(file, moduleOf(sample))
    return file
  })
  return { files, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

function moduleOf(sample: string): string {
  const text = sample.replace(
    /from '(sharded-sentinel-pool[^']*)'/g,
    (_, name: string) => `from '${root}${ENTRIES[name]}'`,
  )
  if (!/\bpool\./.test(sample) || sample.includes('new ShardedSentinelPool(')) return text
  return `import { ShardedSentinelPool as Pool } from '${root}src/index.js'
const list = (name: string) => process.env[name]!.split(',')
const pool = await new Pool({ masters: list('MASTERS'), sentinels: list('SENTINELS') }).connect()
${text}
await pool.close()
`
}
