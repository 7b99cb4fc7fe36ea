import { InvalidOptionsError } from '../errors.js'

/**
 * Tag patterns of Jedis (Java) and redis-rb (Ruby) as JavaScript ones. The dialects look alike and differ in what `.`, `^`,
 * `$` and `\s` mean; whatever would mean something else here and cannot be written out is refused, because a pattern that
 * is almost right loses keys without a sound.
 */
export type Dialect = 'java' | 'ruby'

interface Meaning {
  readonly dot: string
  readonly start: string
  readonly end: string
  /** `\Z`: the end, or before the line end that ends the text. */
  readonly lastLine: string
}

const JAVA_END = '(?:(?=\\r\\n(?![^]))|(?<!\\r)(?=\\n(?![^]))|(?=[\\r\\u0085\\u2028\\u2029]?(?![^])))'

const MEANINGS: Readonly<Record<Dialect, Meaning>> = {
  java: { dot: '[^\\n\\r\\u0085\\u2028\\u2029]', start: '(?<![^])', end: JAVA_END, lastLine: JAVA_END },
  ruby: {
    dot: '[^\\n]',
    // The start of any line, but not behind the line end that ends the text.
    start: '(?:(?<![^])|(?<=\\n)(?=[^]))',
    end: '(?=\\n|(?![^]))',
    lastLine: '(?=\\n?(?![^]))',
  },
}

const SPACES = '\\t\\n\\v\\f\\r '
/** What stands for itself in a JavaScript pattern of the flag `u` only with a backslash. */
const SYNTAX = /[\\^$.*+?()[\]{}|/-]/

/**
 * A JavaScript pattern that finds what `pattern` finds in its dialect.
 * @param option path of the option, for errors
 * @throws InvalidOptionsError for syntax that has no exact counterpart, or without a group to take the tag from
 */
export function translatePattern(pattern: string, dialect: Dialect, option: string, flags: string): RegExp {
  const source = new Translator(pattern, dialect, option).run()
  let groups: number
  let compiled: RegExp
  try {
    compiled = new RegExp(source, flags)
    // An alternative that always matches makes the array of groups visible.
    groups = new RegExp(`${source}|`, 'u').exec('')!.length - 1
  } catch (cause) {
    throw new InvalidOptionsError(option, `${option}: '${pattern}' is not a valid pattern`, { cause })
  }
  if (groups === 0)
    throw new InvalidOptionsError(option, `${option}: '${pattern}' has no group ( ) to take the tag from`)
  return compiled
}

class Translator {
  readonly #pattern: string
  readonly #dialect: Dialect
  readonly #option: string
  readonly #meaning: Meaning
  #at = 0

  constructor(pattern: string, dialect: Dialect, option: string) {
    this.#pattern = pattern
    this.#dialect = dialect
    this.#option = option
    this.#meaning = MEANINGS[dialect]
  }

  run(): string {
    let out = ''
    while (this.#at < this.#pattern.length) out += this.#next()
    return out
  }

  #next(): string {
    const char = this.#take()
    switch (char) {
      case '\\':
        return this.#escape()
      case '.':
        return this.#meaning.dot
      case '^':
        return this.#meaning.start
      case '$':
        return this.#meaning.end
      case '[':
        return this.#charClass()
      case '(':
        return this.#group()
      case '*':
      case '+':
      case '?':
        return char + this.#lazy()
      case '{':
        return this.#interval()
      case '}':
      case ']':
        return `\\${char}`
      default:
        return char === '/' || char === '-' ? this.#literal(char) : char
    }
  }

  /** What may follow a quantifier. */
  #lazy(): string {
    const next = this.#pattern[this.#at]
    if (next === '+' || next === '*') throw this.#refuse(`'${next}' behind a quantifier`)
    if (next !== '?') return ''
    this.#at++
    const more = this.#pattern[this.#at]
    if (more === '+' || more === '*' || more === '?') throw this.#refuse(`'${more}' behind a quantifier`)
    return '?'
  }

  #interval(): string {
    const found = /^(\d*)(,?)(\d*)\}/.exec(this.#pattern.slice(this.#at))
    const [all, min, comma, max] = found ?? []
    const counts = all !== undefined && (min !== '' || (this.#dialect === 'ruby' && comma !== '' && max !== ''))
    if (!counts) {
      if (this.#dialect === 'ruby') return '\\{'
      throw this.#refuse("'{' that repeats nothing (write '\\{')")
    }
    this.#at += all.length
    return `{${min === '' ? '0' : min}${comma}${max}}${this.#lazy()}`
  }

  #group(): string {
    if (this.#pattern[this.#at] !== '?') return '('
    const opening = /^\?(?::|=|!|<=|<!)/.exec(this.#pattern.slice(this.#at))?.[0]
    if (opening === undefined) throw this.#refuse("a group that begins with '(?' and is not (?: (?= (?! (?<= (?<!")
    this.#at += opening.length
    return `(${opening}`
  }

  #charClass(): string {
    let out = '['
    if (this.#pattern[this.#at] === '^') {
      this.#at++
      out += '^'
    }
    if (this.#pattern[this.#at] === ']') throw this.#refuse("']' as the first of a class (write '\\]')")
    for (;;) {
      if (this.#at >= this.#pattern.length) throw this.#refuse('a class that does not end')
      const char = this.#take()
      if (char === ']') return `${out}]`
      if (char === '[') throw this.#refuse("'[' within a class (write '\\[')")
      if (char === '&' && this.#pattern[this.#at] === '&') throw this.#refuse("'&&' within a class")
      if (char === '\\') out += this.#escape(true)
      else out += char === '-' ? '-' : this.#literal(char)
    }
  }

  #escape(inClass = false): string {
    const char = this.#at < this.#pattern.length ? this.#take() : ''
    if (/^[dDwWtnrf]$/.test(char)) return `\\${char}`
    if (char === 's') return inClass ? SPACES : `[${SPACES}]`
    if (char === 'h' && this.#dialect === 'ruby') return inClass ? '0-9a-fA-F' : '[0-9a-fA-F]'
    if (char === 'S' && !inClass) return `[^${SPACES}]`
    if (char === 'a') return '\\x07'
    if (char === 'e') return '\\x1b'
    if (char === 'u' || char === 'x') return this.#codePoint(char)
    if (!inClass) {
      if (char === 'A') return '(?<![^])'
      if (char === 'z') return '(?![^])'
      if (char === 'Z') return this.#meaning.lastLine
      if (char === 'Q' && this.#dialect === 'java') return this.#quoted()
    }
    if (char === '' || /^[a-zA-Z0-9]$/.test(char)) throw this.#refuse(`'\\${char}'`)
    return this.#literal(char)
  }

  #codePoint(kind: 'u' | 'x'): string {
    const digits = kind === 'u' ? 4 : 2
    const found = new RegExp(`^[0-9a-fA-F]{${digits}}`).exec(this.#pattern.slice(this.#at))?.[0]
    if (found === undefined) throw this.#refuse(`'\\${kind}' without ${digits} hex digits`)
    this.#at += digits
    return `\\u${found.padStart(4, '0')}`
  }

  /** Everything up to `\E` stands for itself. */
  #quoted(): string {
    const end = this.#pattern.indexOf('\\E', this.#at)
    const text = this.#pattern.slice(this.#at, end < 0 ? undefined : end)
    this.#at = end < 0 ? this.#pattern.length : end + 2
    return Array.from(text, (char) => this.#literal(char)).join('')
  }

  #literal(char: string): string {
    if (char === '-') return '\\x2d'
    return SYNTAX.test(char) ? `\\${char}` : char
  }

  #take(): string {
    const char = String.fromCodePoint(this.#pattern.codePointAt(this.#at)!)
    this.#at += char.length
    return char
  }

  #refuse(what: string): InvalidOptionsError {
    const name = this.#dialect === 'java' ? 'Java' : 'Ruby'
    return new InvalidOptionsError(
      this.#option,
      `${this.#option}: '${this.#pattern}' has ${what}, which cannot be matched exactly as ${name} does`,
    )
  }
}
