// Builds dist/: the code once, as CommonJS, and an ES module door before it. One copy of the code for both kinds of
// importers means one ShardedSentinelPool class and one set of error classes in a process, whoever imports how.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const ENTRIES = {
  index: 'index',
  ring: 'ring/index',
  testing: 'testing/index',
  dashboard: 'cli/dashboard/index',
  opentelemetry: 'opentelemetry/index',
}

/** Optional peers that an entry cannot do without. */
const PEERS = { opentelemetry: '@opentelemetry/api' }

rmSync(`${root}dist`, { recursive: true, force: true })
const tsc = require.resolve('typescript/package.json').replace(/package\.json$/, 'bin/tsc')
const built = spawnSync(process.execPath, [tsc, '-p', '.dev/tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (built.status !== 0) process.exit(1)
writeFileSync(`${root}dist/cjs/package.json`, '{ "type": "commonjs" }\n')
mkdirSync(`${root}dist/esm`)
for (const [entry, path] of Object.entries(ENTRIES)) {
  const names = Object.keys(require(`${root}dist/cjs/${path}.js`))
    .filter((name) => name !== 'default')
    .sort()
  // Where it is missing the import of this door fails as any other: Node 20 reports a throw inside the CommonJS behind it twice,
  // and the second one nobody can catch.
  const peer = PEERS[entry] === undefined ? '' : `import '${PEERS[entry]}'\n`
  writeFileSync(`${root}dist/esm/${entry}.js`, `${peer}export { ${names.join(', ')} } from '../cjs/${path}.js'\n`)
  writeFileSync(`${root}dist/esm/${entry}.d.ts`, `export * from '../cjs/${path}.js'\n`)
}
