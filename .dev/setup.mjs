// Brings a fresh clone to where `npm start` and `npm test` can run: Node's version, the packages, a redis-server.
// Plain Node on purpose: it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { platform } from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (path) => `${root}${path}`

function fail(sentence) {
  console.error(`setup: ${sentence}`)
  process.exit(1)
}

function run(command, args) {
  console.error(`setup: ${command} ${args.join(' ')}`)
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

function has(command) {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
}

if (Number(process.versions.node.split('.')[0]) < 20) fail(`Node 20 or newer is needed, this is ${process.version}.`)

const installed = at('node_modules/.package-lock.json')
const stale = !existsSync(installed) || statSync(at('package-lock.json')).mtimeMs > statSync(installed).mtimeMs
if (stale && !run('npm', ['ci', '--no-audit', '--no-fund'])) fail('npm ci failed; see above.')

const redis = process.env.REDIS_SERVER ?? 'redis-server'
if (!has(redis)) {
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const apt = (...args) => run([...sudo, 'apt-get'][0], [...[...sudo, 'apt-get'].slice(1), ...args])
  if (platform === 'darwin' && has('brew')) run('brew', ['install', 'redis'])
  else if (platform === 'linux' && has('apt-get')) {
    // Debian starts a server on 6379 when the package comes in; the tools alone are all that is needed.
    if (apt('update', '-qq')) apt('install', '-y', '-qq', '--no-install-recommends', 'redis-tools', 'redis-server')
  }
  if (!has(redis)) {
    fail('redis-server is missing: `sudo apt-get install redis-server` (Debian) or `brew install redis` (macOS).')
  }
}
