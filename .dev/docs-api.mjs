// Writes the API reference from the doc comments, and fails where a public name has none. Out of the tree, by default into a
// folder of the system's temporary one: node .dev/docs-api.mjs [folder]
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('api-docs', import.meta.url))
const out = process.argv[2] ?? join(tmpdir(), 'sharded-sentinel-pool-api')

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: here, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

// typedoc wants a compiler older than the library's own, so it has a folder, and packages, of its own.
if (!existsSync(join(here, 'node_modules/.package-lock.json'))) run('npm', ['ci', '--no-audit', '--no-fund'])
run(process.execPath, [join(here, 'node_modules/typedoc/bin/typedoc'), '--out', out])
console.log(join(out, 'index.html'))
