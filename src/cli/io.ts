/** Where the commands read and write: the process's own streams, or a test's. */
export interface Io {
  /** The result: what a script would read. */
  out(text: string): void
  /** Progress, questions and complaints. */
  err(text: string): void
  readonly stdin: AsyncIterable<string | Uint8Array> & { readonly isTTY?: boolean | undefined }
  readonly env: Readonly<Record<string, string | undefined>>
  readonly outIsTerminal: boolean
  readonly errIsTerminal: boolean
  readonly columns: number
  /** One line that a person types after the question; undefined at the end of input. */
  ask(question: string): Promise<string | undefined>
}

export type Color = 'red' | 'green' | 'yellow' | 'bold' | 'dim'

const CODES: Readonly<Record<Color, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  bold: [1, 22],
  dim: [2, 22],
}

export type Paint = (color: Color, text: string) => string

/** Colour for a person at a terminal who has not said NO_COLOR (https://no-color.org). */
export function painter(io: Pick<Io, 'env' | 'outIsTerminal'>): Paint {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env
  const on = NO_COLOR ? false : FORCE_COLOR ? FORCE_COLOR !== '0' : io.outIsTerminal && TERM !== 'dumb'
  return (color, text) => (on && text !== '' ? `\x1b[${CODES[color][0]}m${text}\x1b[${CODES[color][1]}m` : text)
}
