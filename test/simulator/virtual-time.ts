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
  /** Where each pending timer of the code under test was set, when asked for. */
  readonly #origins = new Map<Entry, string>()
  readonly #tellsOrigins: boolean
  #order = 0
  #pending = 0
  #restore: (() => void)[] = []

  /** Timers that the code under test has set and that have neither fired nor been cleared. */
  get pendingOfSubject(): number {
    return this.#pending
  }

  constructor(tellsOrigins = false) {
    this.#tellsOrigins = tellsOrigins
  }

  /** Where those timers were set; empty where nobody asked for it. */
  get origins(): readonly string[] {
    return [...this.#origins].filter(([entry]) => entry.run !== undefined).map(([, stack]) => stack)
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

  /**
   * Runs until `done`, or until nothing is left to happen, or until the clock reaches `limit`. True when `done`. One event per
   * immediate: Node runs all promise jobs and ticks dry before it comes to the next one.
   */
  async runUntil(done: () => boolean, limit: number, afterEach: () => void): Promise<boolean> {
    let ran = false
    return turns(() => {
      if (ran) afterEach()
      ran = false
      if (done()) return true
      let entry: Entry | undefined
      do {
        if ((this.#heap[0]?.at ?? Number.POSITIVE_INFINITY) > limit) {
          this.now = Math.max(this.now, limit)
          return false
        }
        entry = this.#pop()!
      } while (entry.run === undefined)
      const { run } = entry
      this.now = Math.max(this.now, entry.at)
      this.events++
      entry.run = undefined
      if (entry.owner === 'subject') this.#pending--
      ran = true
      run()
      return undefined
    })
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
      // Over before the process could think of ending: no timer that is left.
      this.#push(this.now, () => run(...args), 'world'),
    )
    const clear = (timer: Timer | undefined) => timer?.close()
    for (const name of ['clearTimeout', 'clearInterval']) this.#put(globalThis, name, clear)
    this.#put(globalThis, 'clearImmediate', (entry: Entry | undefined) => {
      if (entry !== undefined) entry.run = undefined
    })
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
      if (this.#tellsOrigins) this.#origins.set(entry, new Error('set').stack ?? '')
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
  readonly #close: () => void
  readonly #again: () => void
  #cleared = false

  constructor(close: () => void, again: () => void) {
    this.#close = close
    this.#again = again
  }

  close(): void {
    this.#cleared = true
    this.#close()
  }

  /** Of one that was cleared it does nothing, as in Node. */
  refresh(): this {
    if (!this.#cleared) this.#again()
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

/** Takes turn after turn until one gives an answer. Many at a time, since each look at the event loop costs more than a turn. */
function turns<T>(take: () => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false
    const turn = () => {
      if (over) return
      try {
        const answer = take()
        if (answer === undefined) return
        over = true
        resolve(answer)
      } catch (error) {
        over = true
        reject(error)
      }
    }
    const batch = () => {
      for (let i = 0; i < 50; i++) realImmediate(turn)
      realImmediate(() => over || batch())
    }
    batch()
  })
}
