#!/usr/bin/env node
import { realpathSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import type { Io } from './io.js'
import { run } from './run.js'

const io: Io = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  stdin: process.stdin,
  env: process.env,
  outIsTerminal: process.stdout.isTTY === true,
  errIsTerminal: process.stderr.isTTY === true,
  columns: process.stdout.columns ?? 100,
  ask: async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    const answer = lines.question(question)
    const ended = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)))
    try {
      return await Promise.race([answer, ended])
    } finally {
      lines.close()
    }
  },
}

// `npx` runs a link; the package is where it points to.
if (process.argv[1] !== undefined) process.argv[1] = realpathSync(process.argv[1])

const interrupted = new AbortController()
for (const [name, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.on(name, () => {
    // The second time nobody wants to wait.
    if (interrupted.signal.aborted) process.exit(code)
    process.exitCode = code
    interrupted.abort(new Error(name))
  })
}
// `… | head` closes the pipe: that is the end, not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

run(process.argv.slice(2), io, interrupted.signal).then(
  (code) => {
    process.exitCode ??= code
  },
  (error: unknown) => {
    if (!interrupted.signal.aborted) throw error
  },
)
