import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const ROOT = new URL('../../', import.meta.url)

/** True when the figures are to be put into the documents, not only shown. */
export const WRITES = process.argv.includes('--write')

/** Shows a result and, with `--write`, puts it between the marks of its name in docs/performance.md. */
export function publish(name: string, title: string, text: string, file = 'docs/performance.md'): void {
  console.log(`\n${title}\n\n${text}`)
  if (!WRITES) return
  const path = fileURLToPath(new URL(file, ROOT))
  const whole = readFileSync(path, 'utf8')
  const [from, to] = [`<!-- bench: ${name} -->\n`, `<!-- end: ${name} -->`]
  const start = whole.indexOf(from)
  const end = whole.indexOf(to)
  if (start < 0 || end < start) throw new Error(`${file} has no marks for '${name}'`)
  writeFileSync(path, `${whole.slice(0, start + from.length)}\n${text}\n\n${whole.slice(end)}`)
}

/** Where and with what it was measured, and how busy the machine was. */
export function conditions(command: string): string {
  const version = (name: string) => (require(`${name}/package.json`) as { version: string }).version
  const [cpu] = cpus()
  const redis = /v=(\S+)/.exec(spawnSync(process.env.REDIS_SERVER ?? 'redis-server', ['--version']).stdout.toString())
  const load = loadavg().map((value) => value.toFixed(1))
  return [
    `${cpus().length} cores of ${cpu?.model.trim() ?? 'an unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GB,`,
    `servers and clients on the same machine; load average ${load.join(', ')} at the end of the run.`,
    `Node ${process.version}, redis-server ${redis?.[1] ?? 'unknown'}, node-redis ${version('redis')},`,
    `ioredis ${version('ioredis')}, generic-pool ${version('generic-pool')}, hashring ${version('hashring')}.`,
    `${new Date().toISOString().slice(0, 10)}, \`${command}\`.`,
  ].join('\n')
}
