import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readme, samples, writeSamples } from '../support/readme-samples.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('README: the quick start is examples/quick-start.ts, word for word but for where the package is', () => {
  const example = readFileSync(`${root}examples/quick-start.ts`, 'utf8')
  assert.equal(samples[0], example.replace("'./library.js'", "'sharded-sentinel-pool'"))
  const code = example.split('\n').filter((line) => line.trim() !== '')
  assert.ok(code.length <= 15, `at most 15 lines of code, not ${code.length}`)
})

test('README: every sample type-checks as strictly as the library itself', () => {
  using written = writeSamples()
  const tsc = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace('package.json', 'bin/tsc')
  const flags = '--noEmit --strict --target es2022 --lib es2022,esnext.disposable --module nodenext --types node'
  const types = ['--ignoreConfig', '--skipLibCheck', '--typeRoots', `${root}node_modules/@types`]
  const args = [tsc, ...flags.split(' '), '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', ...types]
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, ...written.files], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
  assert.ok(samples.length >= 5)
})

test('README: every link goes to a file or a heading that is there', () => {
  const headings = [...readme.matchAll(/^#+ (.+)$/gm)].map((heading) => heading[1]!.toLowerCase().replaceAll(' ', '-'))
  const broken = [...readme.matchAll(/\]\(([^)]+)\)/g)]
    .map((link) => link[1]!)
    .filter((link) => (link.startsWith('#') ? !headings.includes(link.slice(1)) : !existsSync(`${root}${link}`)))
  assert.deepEqual(broken, [])
})

test('README: every command it names is a script of package.json or a file', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }
  const named = [...readme.matchAll(/`(?:npm run |npm )(start|test(?::\w+)?)`|`(test:\w+)`/g)].map((m) => m[1] ?? m[2]!)
  assert.ok(named.length >= 4)
  for (const name of named) assert.ok(scripts[name] !== undefined, name)
  assert.ok(existsSync(`${root}.ci/run`))
})

test('README: the commands of the command line are those that --help lists', () => {
  const section = readme.slice(readme.indexOf('## Command line'), readme.indexOf('## Closing'))
  const said = [...section.matchAll(/^- `(\w+)`/gm)].map((command) => command[1]!)
  const { stdout } = spawnSync(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', '--help'], {
    cwd: root,
    encoding: 'utf8',
  })
  const listed = /^Commands:\n([\s\S]*?)\n\n/m.exec(stdout)?.[1] ?? ''
  const commands = [...listed.matchAll(/^ {2}(\w+) /gm)].map((command) => command[1]!)
  assert.deepEqual(said.sort(), commands.sort())
})
