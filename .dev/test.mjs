// Runs the suites named on the command line (all when none is), each a folder of `test/`, with one summary at the end.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const SUITES = ['unit', 'component', 'regression', 'integration']
const [names, flags] = [[], []]
for (const argument of process.argv.slice(2)) (argument.startsWith('-') ? flags : names).push(argument)

const wrong = names.find((name) => !SUITES.includes(name))
if (wrong !== undefined) {
  console.error(`there is no suite '${wrong}'; there are ${SUITES.join(', ')}`)
  process.exit(1)
}
const files = (names.length > 0 ? names : SUITES).flatMap((suite) => {
  try {
    return readdirSync(`${root}test/${suite}`, { recursive: true })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => `test/${suite}/${file}`)
      .sort()
  } catch {
    return []
  }
})
const coverage = flags.includes('--coverage')
const node = [
  '--import',
  'tsx',
  '--test',
  '--test-concurrency=3',
  '--test-timeout=120000',
  '--test-reporter=spec',
  ...files,
]
const c8 = ['c8', '--include', 'src', '--reporter', 'text-summary', '--reporter', 'html', process.execPath]
const [command, args] = coverage ? ['npx', [...c8, ...node]] : [process.execPath, node]
const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
process.exit(status ?? 1)
