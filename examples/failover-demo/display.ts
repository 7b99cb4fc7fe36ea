import { styleText } from 'node:util'
import type { ShardedSentinelPool } from '../library.js'
import type { ShardTally } from './tally.js'

export type Color = 'green' | 'red' | 'yellow' | 'bold' | 'dim'

/** Colour where a person looks at a terminal and has not said NO_COLOR. */
export function paint(color: Color, text: string): string {
  return process.stdout.isTTY && !process.env.NO_COLOR ? styleText(color, text) : text
}

/** One line about now: rewritten in place on a terminal, else a new plain line every second. */
export class LiveLine {
  readonly #pool: ShardedSentinelPool
  readonly #tallies: readonly ShardTally[]
  readonly #since = performance.now()
  readonly #timer: NodeJS.Timeout
  #last = performance.now()

  constructor(pool: ShardedSentinelPool, tallies: readonly ShardTally[]) {
    this.#pool = pool
    this.#tallies = tallies
    this.#timer = setInterval(() => this.#draw(), process.stdout.isTTY ? 250 : 1_000)
  }

  /** A line that stays, above the live one. */
  say(text: string): void {
    console.log(process.stdout.isTTY ? `\r\x1b[K${text}` : text)
  }

  stop(): void {
    clearInterval(this.#timer)
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
  }

  #draw(): void {
    const now = performance.now()
    const seconds = (now - this.#last) / 1_000
    this.#last = now
    const time = `${((now - this.#since) / 1_000).toFixed(1).padStart(5)} s`
    const parts = this.#tallies.map((tally, i) => this.#part(tally, this.#pool.shards[i]!.state, seconds))
    const plain = [time, ...parts.map((part) => part.text)].join('  ')
    if (!process.stdout.isTTY) {
      console.log(plain)
      return
    }
    const painted = [time, ...parts.map(({ text, color }) => (color ? paint(color, text) : text))].join('  ')
    // A line that is too long would wrap and could not be rewritten.
    const { columns } = process.stdout
    process.stdout.write(`\r\x1b[K${plain.length < columns ? painted : plain.slice(0, columns - 1)}`)
  }

  #part(tally: ShardTally, state: string, seconds: number): { text: string; color?: Color } {
    const rate = `${Math.round(tally.recent / seconds)}/s`.padStart(5)
    tally.recent = 0
    const waiting = state === 'ready' ? '' : ` ${state}, ${tally.inFlight} waiting`
    const errors = tally.failed === 0 ? '' : ` errors ${tally.failed}`
    const text = `${tally.shard} ${rate}${waiting}${errors}`
    if (state !== 'ready') return { text, color: 'yellow' }
    return tally.failed === 0 ? { text } : { text, color: 'red' }
  }
}
