import { run } from '../../src/cli/run.js'

export interface CliResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface CliWorld {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** What a person types at the prompt; undefined: the input has ended. */
  readonly answer?: string
  readonly terminal?: boolean
  readonly signal?: AbortSignal
  /** Sees each piece of output as it comes. */
  readonly onOut?: (text: string) => void
}

/** Runs a command line in this process, with its streams caught. */
export async function runCli(args: readonly string[], world: CliWorld = {}): Promise<CliResult> {
  let out = ''
  let err = ''
  const io = {
    out: (text: string) => {
      out += text
      world.onOut?.(text)
    },
    err: (text: string) => {
      err += text
    },
    stdin: input(world.stdin),
    env: world.env ?? {},
    outIsTerminal: world.terminal === true,
    errIsTerminal: world.terminal === true,
    columns: 100,
    ask: async (question: string) => {
      err += question
      return world.answer
    },
  }
  const code = await run(args, io, world.signal ?? new AbortController().signal)
  return { code, out, err }
}

function input(text: string | undefined): AsyncIterable<string> & { readonly isTTY?: boolean } {
  const chunks = text === undefined ? [] : [text]
  return Object.assign(
    {
      async *[Symbol.asyncIterator]() {
        yield* chunks
      },
    },
    { isTTY: text === undefined },
  )
}
