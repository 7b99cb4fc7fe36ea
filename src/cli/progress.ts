import type { Io } from './io.js'

const WIDTH = 30

/** A bar on standard error: rewritten in place on a terminal, else a line at each tenth of the way. */
export class Progress {
  readonly #io: Io
  readonly #what: string
  #tenth = -1
  #shown = ''

  constructor(io: Io, what: string) {
    this.#io = io
    this.#what = what
  }

  at(done: number, total: number): void {
    const part = total === 0 ? 1 : Math.min(1, done / total)
    const tenth = Math.floor(part * 10)
    const text = `${this.#what} ${done} of ${total}`
    if (this.#io.errIsTerminal) {
      const full = Math.round(part * WIDTH)
      const line = `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${text}`
      if (line !== this.#shown) this.#io.err(`\r\x1b[K${line}`)
      this.#shown = line
    } else if (tenth > this.#tenth) {
      this.#io.err(`${text}\n`)
    }
    this.#tenth = tenth
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#io.errIsTerminal) this.#io.err('\r\x1b[K')
  }
}
