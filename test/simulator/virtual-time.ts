import { Random } from './random.js'

type Owner = 'world' | 'subject'

interface Entry {
  at: number
  order: number
  run: (() => void) | undefined
  readonly owner: Owner
}

const { setImmediate: realImmediate } = globalThis

/**
 * A clock that jumps from event to event. While it is installed the process's timers, `performance.now`, `Date.now` and
 * `Math.random` are its own, so that a run of ten seconds takes some ten milliseconds and a seed always gives the same one.
 * Promises and `nextTick` stay Node's: after each event they are let run dry before the clock moves on.
 */
export class VirtualTime {
  now = 1_000
  events = 0
  readonly #heap: Entry[] = []
  #order = 0
  #pending = 0
  #restore: (() => void)[] = []

  /** Timers that the code under test has set and that have neither fired nor been cleared. */
  get pendingOfSubject(): number {
    return this.#pending
  }

  /** For the world: schedules and forgets. */
  after(ms: number, run: () => void): void {
    this.at(this.now + ms, run)
  }

  /** What is due at one moment runs in the order in which it was scheduled. */
  at(moment: number, run: () => void): void {
    this.#push(Math.max(this.now, moment), run, 'world')
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs until `done`, or until nothing is left to happen, or until the clock reaches `limit`. True when `done`. */
  async runUntil(done: () => boolean, limit: number, afterEach: () => void): Promise<boolean> {
    await drained()
    while (!done()) {
      if ((this.#heap[0]?.at ?? Number.POSITIVE_INFINITY) > limit) {
        this.now = Math.max(this.now, limit)
        return false
      }
      const entry = this.#pop()!
      const { run } = entry
      if (run === undefined) continue
      this.now = Math.max(this.now, entry.at)
      this.events++
      entry.run = undefined
      if (entry.owner === 'subject') this.#pending--
      run()
      await drained()
      afterEach()
    }
    return true
  }

  install(seed: number): void {
    const random = new Random(seed)
    this.#put(globalThis, 'setTimeout', (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      this.#timer(() => run(...args), Math.max(1, ms), false),
    )
    this.#put(globalThis, 'setInterval', (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      this.#timer(() => run(...args), Math.max(1, ms), true),
    )
    this.#put(globalThis, 'setImmediate', (run: (...args: unknown[]) => void, ...args: unknown[]) =>
      this.#timer(() => run(...args), 0, false),
    )
    const clear = (timer: Timer | undefined) => timer?.close()
    for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) this.#put(globalThis, name, clear)
    this.#put(performance, 'now', () => this.now)
    this.#put(Date, 'now', () => Math.floor(1_700_000_000_000 + this.now))
    this.#put(Math, 'random', () => random.next())
  }

  uninstall(): void {
    for (const restore of this.#restore) restore()
    this.#restore = []
  }

  #put(target: object, name: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(target, name)
    Object.defineProperty(target, name, { value, configurable: true, writable: true })
    this.#restore.unshift(() => {
      if (before === undefined) delete (target as Record<string, unknown>)[name]
      else Object.defineProperty(target, name, before)
    })
  }

  #timer(run: () => void, ms: number, repeats: boolean): Timer {
    let entry: Entry | undefined
    const arm = () => {
      this.#pending++
      entry = this.#push(
        this.now + ms,
        () => {
          if (repeats) arm()
          run()
        },
        'subject',
      )
    }
    const close = () => {
      if (entry?.run === undefined) return
      entry.run = undefined
      this.#pending--
    }
    arm()
    return new Timer(close, () => {
      close()
      arm()
    })
  }

  #push(at: number, run: () => void, owner: Owner): Entry {
    const entry: Entry = { at, order: this.#order++, run, owner }
    const heap = this.#heap
    let i = heap.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(entry, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = entry
    return entry
  }

  #pop(): Entry | undefined {
    const heap = this.#heap
    const top = heap[0]
    const last = heap.pop()
    if (top === undefined || last === undefined || heap.length === 0) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
    return top
  }
}

/** What `setTimeout` gives: as much of Node's as anybody here uses. */
class Timer {
  readonly close: () => void
  readonly #again: () => void

  constructor(close: () => void, again: () => void) {
    this.close = close
    this.#again = again
  }

  refresh(): this {
    this.#again()
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Node runs all promise jobs and ticks before it comes to an immediate. */
function drained(): Promise<void> {
  return new Promise((resolve) => realImmediate(resolve))
}
