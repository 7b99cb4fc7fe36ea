import { OrderBook } from './order.js'
import type { SimNode } from './sim-node.js'
import type { VirtualTime } from './virtual-time.js'

/** One call of the workload: a write has ids, one per thing it writes; a read has none. */
export interface CallRecord {
  readonly what: string
  readonly ids: readonly string[]
  readonly startedAt: number
  /** It must have ended by then. */
  readonly endsBy: number
  /** The caller asked for repeats of what may have run. */
  readonly mayRunTwice: boolean
  endedAt: number | undefined
  outcome: 'acknowledged' | 'not-sent' | 'unknown' | 'other' | undefined
}

export class Violation extends Error {}

interface Execution {
  readonly node: SimNode
  readonly at: number
}

/** Who called what, who executed what: the books that must balance after every step. */
export class Ledger {
  readonly executions = new Map<string, Execution[]>()
  readonly open = new Set<CallRecord>()
  readonly order = new OrderBook()
  readonly calls: CallRecord[] = []
  readonly trace: string[] = []
  readonly codes: Record<string, number> = {}
  violation: Violation | undefined
  /** A run in which all holds needs no story: it is told when the seed is played again. */
  readonly #tells: boolean
  /** Which shard owns a key: set when there is a pool. */
  ownerOf: (key: string) => number = () => -1
  readonly #time: VirtualTime
  readonly #byId = new Map<string, CallRecord>()
  #ids = 0

  constructor(time: VirtualTime, tells: boolean) {
    this.#time = time
    this.#tells = tells
  }

  /** Whole numbers, so that INCRBY can carry them and answer with them. */
  nextId(): string {
    return String(1_000_000 + ++this.#ids)
  }

  note(line: string): void {
    if (!this.#tells) return
    this.trace.push(`${(this.#time.now - 1_000).toFixed(2).padStart(9)} ${line}`)
  }

  broken(what: string): void {
    this.note(`VIOLATION ${what}`)
    this.violation ??= new Violation(what)
  }

  begin(what: string, ids: readonly string[], boundMs: number, mayRunTwice: boolean): CallRecord {
    const startedAt = this.#time.now
    const endsBy = startedAt + boundMs
    const call: CallRecord = { what, ids, startedAt, endsBy, mayRunTwice, endedAt: undefined, outcome: undefined }
    this.calls.push(call)
    this.open.add(call)
    for (const id of ids) this.#byId.set(id, call)
    return call
  }

  end(call: CallRecord, outcome: NonNullable<CallRecord['outcome']>, code: string): void {
    call.endedAt = this.#time.now
    call.outcome = outcome
    this.open.delete(call)
    this.codes[code] = (this.codes[code] ?? 0) + 1
    if (this.#tells)
      this.note(
        `end ${call.what} ${call.ids.join()} ${outcome} ${code} after ${(call.endedAt - call.startedAt).toFixed(1)}`,
      )
    for (const id of call.ids) {
      const count = this.executions.get(id)?.length ?? 0
      if (outcome === 'acknowledged' && count === 0 && !call.what.startsWith('blPop')) {
        this.broken(`${call.what} ${id} was acknowledged and nobody executed it`)
      }
      if (outcome === 'not-sent' && count > 0) this.broken(`${call.what} ${id} was rejected as not sent and had run`)
    }
  }

  executed(id: string, key: string, node: SimNode): void {
    const call = this.#byId.get(id)
    const list = this.executions.get(id) ?? []
    list.push({ node, at: this.#time.now })
    this.executions.set(id, list)
    if (this.#tells) this.note(`executed ${id} on ${node.label}`)
    if (call === undefined) return
    if (list.length > 1 && !call.mayRunTwice) {
      this.broken(
        `${call.what} ${id} was executed ${list.length} times: ${list.map((one) => one.node.label).join(', ')}`,
      )
    }
    if (call.outcome === 'not-sent') this.broken(`${call.what} ${id} was rejected as not sent and ran afterwards`)
    const disorder = this.order.executed(id)
    if (disorder !== undefined) this.broken(`${call.what} ${id}: ${disorder}`)
    if (this.ownerOf(key) !== node.shard) this.broken(`${key} was written on ${node.label}, which does not own it`)
  }

  /** After every step: no call is open past its deadline. */
  checkDeadlines(): void {
    for (const call of this.open) {
      // In the order of their start: bounds differ, but a call is looked at as soon as it is the oldest.
      if (this.#time.now > call.endsBy) {
        this.broken(
          `${call.what} ${call.ids.join()} has not ended after ${(this.#time.now - call.startedAt).toFixed(0)} ms`,
        )
        return
      }
    }
  }
}
