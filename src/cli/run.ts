import { InvalidOptionsError, ShardedSentinelPoolError } from '../index.js'
import { type Command, EXIT, type ExitCode } from './command.js'
import { dashboard } from './commands/dashboard.js'
import { doctor } from './commands/doctor.js'
import { drill } from './commands/drill.js'
import { locate } from './commands/locate.js'
import { plan } from './commands/plan.js'
import { status } from './commands/status.js'
import { readFlags } from './flags.js'
import { commandHelp, HELP, overview, PROGRAM } from './help.js'
import { type Io, painter } from './io.js'
import { SETTINGS_FLAGS } from './settings.js'
import { UsageError, unknownWord } from './usage-error.js'
import { packageVersion } from './version.js'

export const COMMANDS: readonly Command[] = [status, doctor, locate, plan, drill, dashboard]

/** Runs one command line. Resolves with the exit code; rejects only with the signal's reason. */
export async function run(args: readonly string[], io: Io, signal: AbortSignal): Promise<ExitCode> {
  try {
    return await dispatch(args, io, signal)
  } catch (error) {
    signal.throwIfAborted()
    const paint = painter(io)
    if (error instanceof UsageError || error instanceof InvalidOptionsError) {
      io.err(`${paint('red', 'error:')} ${error.message}\n`)
      return EXIT.usage
    }
    // A typed error says what happened in its sentence; of anything else the stack is what a bug report needs.
    const told = error instanceof ShardedSentinelPoolError ? error.message : (error as Error).stack
    io.err(`${paint('red', 'error:')} ${told}\n`)
    return EXIT.failed
  }
}

async function dispatch(args: readonly string[], io: Io, signal: AbortSignal): Promise<ExitCode> {
  const [name, ...rest] = args
  if (name === '--version' || name === '-v') {
    io.out(`${packageVersion()}\n`)
    return EXIT.ok
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const about = COMMANDS.find((command) => command.name === rest[0])
    const text = about === undefined ? overview(COMMANDS) : commandHelp(about)
    if (name === undefined) io.err(text)
    else io.out(text)
    return name === undefined ? EXIT.usage : EXIT.ok
  }
  if (name.startsWith('-')) throw new UsageError(`begin with a command: ${PROGRAM} <command> ${name}; see --help`)
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) {
    const known = COMMANDS.map((one) => one.name)
    throw unknownWord('command', name, known)
  }
  const all = [...command.flags, HELP, ...(command.takesSettings ? SETTINGS_FLAGS : [])]
  const { flags, words } = readFlags(rest, all)
  if (flags.has('help')) {
    io.out(commandHelp(command))
    return EXIT.ok
  }
  const [min, max] = command.words
  if (words.length < min || words.length > max) {
    const what = words.length < min ? 'too few words' : `one word too many, '${words[max]}'`
    throw new UsageError(`${what}. Usage: ${PROGRAM} ${name} ${command.synopsis}`)
  }
  return command.run({ flags, words, io, paint: painter(io), signal })
}
