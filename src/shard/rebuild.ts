import { type Address, sameAddress } from '../address.js'
import { Backoff } from '../async/backoff.js'
import { Pace } from '../async/pace.js'
import { sleep } from '../async/sleep.js'
import type { RebuildReason } from '../events.js'
import type { MasterSource, VerifiedMaster } from '../sentinel/index.js'
import { turnOf } from './paced.js'

/** Why a shard's master should be looked for, and what the messenger said about it. */
export interface Trigger {
  readonly reason: RebuildReason
  /** Where the message says the master is now: a hint, never an order (R3). */
  readonly hint?: Address | undefined
  /** The sentinel that said so; it is asked first. */
  readonly hintedBy?: Address | undefined
  /** The node a failover's leader has selected: it is asked for its ROLE until it is a master. */
  readonly candidate?: Address | undefined
  /** The master that the candidate is to replace, as the message said. */
  readonly replaces?: Address | undefined
  /** The source says that something has changed, and not what: an attempt under way may have asked it before. */
  readonly asksAnew?: boolean | undefined
  /** Longest time to follow the candidate, in ms. */
  readonly followMs?: number | undefined
}

export interface RebuilderSettings {
  readonly masterName: string
  readonly source: MasterSource
  /** Bound of one attempt, in ms. */
  readonly attemptTimeoutMs: number
  /** What there is to wait for before a verified master is taken over; bounded by the callee, and never rejects. */
  beforeVerified?(verified: VerifiedMaster, signal: AbortSignal): Promise<void> | undefined
  /** Takes over the verified master; the connection is the callee's from then on. True when it is in use now. */
  onVerified(verified: VerifiedMaster, trigger: Trigger, startedAt: number): boolean
  /** One attempt failed. False ends the run: the shard can do without. */
  onFailed(error: Error, trigger: Trigger): boolean
}

class Superseded extends Error {}

/** Waits between attempts: the first retry is almost at once, since a promoted node is a master within milliseconds. */
const BACKOFF = { minMs: 10, maxMs: 500 } as const
/** Attempts at most, whatever triggers them and whatever hints follow each other: a bound on new connections per shard. */
const PACE = { burst: 10, perSecond: 5 } as const
/** A connection that is lost again within this time was no success: the waits go on growing, in ms. */
const STEADY_MS = 1_000

/**
 * One run at a time that finds a shard's master (R2, R4): whatever triggers it while it is under way joins it. A trigger
 * that knows more than the attempt under way (another hint) replaces that attempt, not the run.
 */
export class Rebuilder {
  readonly #settings: RebuilderSettings
  readonly #stop = new AbortController()
  #attempt: { readonly trigger: Trigger; readonly abort: AbortController } | undefined
  #newer: Trigger | undefined
  readonly #backoff = new Backoff(BACKOFF)
  readonly #pace = new Pace(PACE)
  #foundAt = Number.NEGATIVE_INFINITY
  /** Runs since birth, for stats. */
  runs = 0

  constructor(settings: RebuilderSettings) {
    this.#settings = settings
  }

  get running(): boolean {
    return this.#attempt !== undefined
  }

  trigger(trigger: Trigger): void {
    if (this.#stop.signal.aborted) return
    const running = this.#attempt
    if (running === undefined) {
      const abort = new AbortController()
      this.#attempt = { trigger, abort }
      void this.#run(trigger, abort.signal)
      return
    }
    if (trigger.asksAnew === true) {
      this.#newer ??= trigger
      return
    }
    const news = trigger.candidate ?? trigger.hint
    const known = running.trigger.candidate ?? running.trigger.hint
    if (news === undefined || (known !== undefined && sameAddress(news, known))) return
    // The run keeps its first reason; only where to look changes.
    this.#newer = { ...trigger, reason: running.trigger.reason }
    // A selection that is being followed is bounded and proves itself; a late or lying announcement waits for its end.
    if (running.trigger.candidate !== undefined && trigger.candidate === undefined) return
    running.abort.abort(new Superseded())
  }

  /** The failover that a candidate was followed for is off: ask the sentinels again. */
  stopFollowing(): void {
    const running = this.#attempt
    if (running?.trigger.candidate === undefined) return
    this.#newer = { reason: running.trigger.reason }
    running.abort.abort(new Superseded())
  }

  /** Ends the run, if any, at once. Nothing starts after it. */
  stop(): void {
    this.#stop.abort(new Error('closed'))
    this.#attempt?.abort.abort(new Error('closed'))
  }

  async #run(first: Trigger, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now()
    const backoff = this.#backoff
    this.runs++
    let trigger = first
    if (startedAt - this.#foundAt >= STEADY_MS) backoff.reset()
    else if ((first.candidate ?? first.hint) === undefined) {
      // A server that lets us in and throws us out at once would be knocked at without a pause.
      await sleep(backoff.next(), signal).catch(() => {})
      trigger = this.#newer ?? first
      this.#newer = undefined
    }
    while (!this.#stop.signal.aborted) {
      const abort = new AbortController()
      this.#attempt = { trigger, abort }
      const outcome = await this.#try(trigger, abort.signal)
      if (!(outcome instanceof Error)) {
        const before = this.#settings.beforeVerified?.(outcome, abort.signal)
        if (before !== undefined) await before
      }
      const newer = this.#newer
      this.#newer = undefined
      if (this.#stop.signal.aborted) {
        if (!(outcome instanceof Error)) outcome.connection.destroy()
        break
      }
      if (!(outcome instanceof Error)) {
        this.#attempt = undefined
        if (this.#settings.onVerified(outcome, trigger, startedAt)) this.#foundAt = performance.now()
        const news = newer?.candidate ?? newer?.hint
        const isNew = news === undefined ? newer?.asksAnew === true : !sameAddress(news, outcome.address)
        if (newer !== undefined && isNew) this.trigger(newer)
        return
      }
      if (newer !== undefined) {
        trigger = newer
        continue
      }
      // A candidate that did not become master in time is forgotten; a hint is not held against the sentinels' answer.
      trigger = { reason: trigger.reason }
      if (!this.#settings.onFailed(outcome, trigger)) break
      await sleep(backoff.next(), abort.signal).catch(() => {})
      trigger = this.#newer ?? trigger
      this.#newer = undefined
    }
    this.#attempt = undefined
  }

  async #try(trigger: Trigger, signal: AbortSignal): Promise<VerifiedMaster | Error> {
    const { masterName, source, attemptTimeoutMs } = this.#settings
    try {
      const turn = turnOf(this.#pace, signal)
      if (turn !== undefined) await turn
      if (trigger.candidate !== undefined) {
        const { candidate, replaces, followMs: timeoutMs = attemptTimeoutMs } = trigger
        return await source.followCandidate(masterName, candidate, { signal, timeoutMs, replaces })
      }
      return await source.resolve(masterName, {
        signal,
        timeoutMs: attemptTimeoutMs,
        ...(trigger.hint === undefined ? {} : { hint: trigger.hint }),
        ...(trigger.hintedBy === undefined ? {} : { hintedBy: trigger.hintedBy }),
      })
    } catch (error) {
      return error as Error
    }
  }
}
