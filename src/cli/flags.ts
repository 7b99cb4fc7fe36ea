import { parseArgs } from 'node:util'
import { UsageError, unknownWord } from './usage-error.js'

export interface Flag {
  readonly name: string
  readonly short?: string
  /** What follows it, as the help shows it: `<file>`. None for a switch. */
  readonly value?: string
  /** May be given several times. */
  readonly multiple?: boolean
  readonly help: string
}

/** The flags of one command line, each as text, as given. */
export class Flags {
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** A whole number within the bounds. @throws UsageError */
  number(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not '${text}'`)
  }
}

/** Parts a command line into flags and words. @throws UsageError naming the flag, and the nearest one for a typo */
export function readFlags(
  args: readonly string[],
  flags: readonly Flag[],
): { readonly flags: Flags; readonly words: readonly string[] } {
  const options = Object.fromEntries(
    flags.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short ? { short } : {}),
      },
    ]),
  )
  // Not strict: the complaints are ours, since Node's know no nearest name.
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const values = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const flag = flags.find(({ name }) => name === token.name)
    if (flag === undefined) {
      const known = flags.map(({ name }) => name)
      throw unknownWord('flag', token.name, known, token.rawName.replace(/=.*/s, ''))
    }
    if (flag.value === undefined && token.value !== undefined) throw new UsageError(`--${flag.name} takes no value`)
    if (flag.value !== undefined && (token.value === undefined || (!token.inlineValue && /^-./.test(token.value)))) {
      throw new UsageError(`--${flag.name} needs a value: --${flag.name} ${flag.value}`)
    }
    const given = values.get(flag.name) ?? []
    if (given.length > 0 && !flag.multiple) throw new UsageError(`--${flag.name} is given twice`)
    values.set(flag.name, [...given, token.value ?? ''])
  }
  return { flags: new Flags(values), words: positionals }
}
