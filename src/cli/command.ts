import type { Flag, Flags } from './flags.js'
import type { Io, Paint } from './io.js'

/** What a command gets. */
export interface Context {
  readonly flags: Flags
  /** What stands on the command line besides the flags. */
  readonly words: readonly string[]
  readonly io: Io
  readonly paint: Paint
  /** Aborts on Ctrl-C: the command then ends soon and leaves nothing behind. */
  readonly signal: AbortSignal
}

/**
 * The exit codes, the same for every command. Documented in docs/cli.md; stable within a major version.
 *
 * - `ok`: done, and all is well
 * - `trouble`: done, and something is wrong: `doctor` found an error, `status` a shard without a master, a drill failed
 * - `usage`: the command line, the configuration or a file is wrong; nothing was done
 * - `refused`: the question was not answered with yes; nothing was done
 * - `failed`: the command could not do its work, as when no server could be asked
 */
export const EXIT = { ok: 0, trouble: 1, usage: 2, refused: 3, failed: 4 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** After the name: `[--watch]`, `<master>`. */
  readonly synopsis: string
  /** What it does, for its own help. */
  readonly description: string
  readonly examples: readonly string[]
  /** Besides `--help` and the settings. */
  readonly flags: readonly Flag[]
  /** Whether the flags that say which topology are among its flags. */
  readonly takesSettings: boolean
  /** Fewest and most words. */
  readonly words: readonly [min: number, max: number]
  run(context: Context): Promise<ExitCode>
}
