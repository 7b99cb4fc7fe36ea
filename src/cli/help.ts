import type { Command } from './command.js'
import type { Flag } from './flags.js'
import { SETTINGS_FLAGS } from './settings.js'
import { table, wrap } from './text.js'

export const PROGRAM = 'sharded-sentinel-pool'
const WIDTH = 100

/** `npx sharded-sentinel-pool --help` */
export function overview(commands: readonly Command[]): string {
  return `Look at, check and drill Redis shards that Sentinel keeps alive.

Usage: ${PROGRAM} <command> [flags]

Commands:
${table(commands.map(({ name, summary }) => [`  ${name}`, summary]))}

Flags of every command:
  -h, --help     What the command does and its flags
      --version  The version of this package

Settings come from --config <file> (the same object as the constructor's options), the environment
(SHARDED_SENTINEL_POOL_MASTERS, …_SENTINELS, …_PASSWORD) or flags; the last of these wins.

Exit codes: 0 all is well · 1 trouble found · 2 wrong usage or options · 3 not confirmed · 4 could not be done
`
}

/** `npx sharded-sentinel-pool <command> --help` */
export function commandHelp(command: Command): string {
  const { name, synopsis, description, flags, takesSettings, examples } = command
  const sections = [
    `Usage: ${PROGRAM} ${name} ${synopsis}`.trimEnd(),
    description
      .split('\n\n')
      .map((paragraph) => wrap(paragraph, WIDTH))
      .join('\n\n'),
    `Flags:\n${flagTable([...flags, HELP])}`,
    ...(takesSettings ? [`Which topology:\n${flagTable(SETTINGS_FLAGS)}`] : []),
    `Examples:\n${examples.map((example) => `  ${PROGRAM} ${name} ${example}`.trimEnd()).join('\n')}`,
  ]
  return `${sections.join('\n\n')}\n`
}

export const HELP: Flag = { name: 'help', short: 'h', help: 'This text' }

function flagTable(flags: readonly Flag[]): string {
  return table(
    flags.map(({ name, short, value, help }) => [
      `  ${short === undefined ? '   ' : `-${short},`} --${name}${value === undefined ? '' : ` ${value}`}`,
      help,
    ]),
  )
}
