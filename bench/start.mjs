// Makes everything that is measured, then runs one bench: `node bench/start.mjs <name> [arguments]`. The library is
// measured as users get it, compiled: what tsx makes of TypeScript at run time is not the same code.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('..', import.meta.url))
const [name = 'main', ...rest] = process.argv.slice(2)

function run(command, args, cwd = root) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

run(process.execPath, ['.dev/setup.mjs'])
const installed = `${here}node_modules/.package-lock.json`
const stale = !existsSync(installed) || statSync(`${here}package-lock.json`).mtimeMs > statSync(installed).mtimeMs
if (stale) run('npm', ['ci', '--no-audit', '--no-fund'], here)
const require = createRequire(import.meta.url)
const tsc = require.resolve('typescript/package.json').replace(/package\.json$/, 'bin/tsc')
// A build of its own, with the settings of the published one: other programs may be at dist/ meanwhile.
const library = `${here}dist/library`
run(process.execPath, [tsc, '-p', '.dev/tsconfig.build.json', '--outDir', library])
writeFileSync(`${library}/package.json`, '{ "type": "commonjs" }\n')
run(process.execPath, [tsc, '-p', 'bench/tsconfig.json'])

const file = `${here}dist/${name}.js`
if (!existsSync(file)) {
  console.error(`bench: there is no '${name}' in bench/src`)
  process.exit(1)
}
const { status } = spawnSync(process.execPath, [file, ...rest], { stdio: 'inherit' })
process.exit(status ?? 1)
