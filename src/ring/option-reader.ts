import { InvalidOptionsError } from '../errors.js'
import { suggestion } from '../nearest.js'

/**
 * Reads the options of one preset by name, each checked as it is read. `finish` then refuses whatever was given and never
 * asked for, so a preset cannot accept an option that it does not use.
 */
export class OptionReader {
  readonly #preset: string
  readonly #given: Readonly<Record<string, unknown>>
  readonly #known: string[] = []

  constructor(preset: string, given: Readonly<Record<string, unknown>>) {
    this.#preset = preset
    this.#given = given
  }

  /** The raw value; undefined when the option is absent. */
  value(name: string): unknown {
    this.#known.push(name)
    return Object.hasOwn(this.#given, name) ? this.#given[name] : undefined
  }

  oneOf<T extends string | number>(name: string, choices: readonly T[], fallback?: T): T {
    const value = this.value(name)
    if (value === undefined && fallback !== undefined) return fallback
    const choice = choices.find((c) => c === value)
    if (choice !== undefined) return choice
    const list = choices.map((c) => (typeof c === 'string' ? `'${c}'` : `${c}`)).join(', ')
    if (value === undefined) throw this.error(name, `must be given; one of ${list}`)
    const meant = choices.find((c) => typeof c === 'number' && String(c) === value)
    if (meant !== undefined) throw this.error(name, `must be the number ${meant}, not a string`)
    throw this.error(
      name,
      typeof value === 'string'
        ? `does not know '${value}'${suggestion(value, choices.map(String))}`
        : `must be one of ${list}`,
    )
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.value(name)
    if (value === undefined) return fallback
    return this.checkInteger(name, value, min, max)
  }

  checkInteger(name: string, value: unknown, min: number, max: number): number {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      throw this.error(name, `must be a whole number from ${min} to ${max}`)
    }
    return value
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (typeof value !== 'boolean') throw this.error(name, 'must be true or false')
    return value
  }

  text(name: string): string | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value === '') throw this.error(name, 'must be a string that is not empty')
    return value
  }

  /** Refuses every option that no one asked for. @throws InvalidOptionsError */
  finish(): void {
    for (const name of Object.keys(this.#given)) {
      if (this.#known.includes(name) || this.#given[name] === undefined) continue
      const hint = this.#known.length > 0 ? suggestion(name, this.#known) : '; it has no options'
      throw this.error(name, `is no option of this ring${hint}`)
    }
  }

  error(name: string, problem: string): InvalidOptionsError {
    return new InvalidOptionsError(`ring.${name}`, `ring.${name} ${problem} (preset '${this.#preset}')`)
  }
}
