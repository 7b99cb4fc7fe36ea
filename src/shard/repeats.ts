import { onAbort } from '../async/abort.js'
import { Backoff } from '../async/backoff.js'
import type { CoarseClock } from '../async/clock.js'
import { sleep } from '../async/sleep.js'
import { ShardedSentinelPoolError } from '../errors.js'
import type { Settings } from '../options.js'
import { AbortError, ErrorReply } from '../redis-client.js'
import type { CallOptions, CommandProfile } from './call.js'
import type { CallEnds } from './call-ends.js'
import { classifyFailure, reasonOf, replyCode } from './failure.js'
import { LAST_REPEAT_MS, type MasterLink } from './master-link.js'
import { REFUSED_PAUSE } from './refused-writes.js'

/**
 * So often a call may lose its connection. One whose answer the server cuts off each time (client-output-buffer-limit) would
 * take everybody's commands along with every repeat, until its deadline.
 */
const MOST_LOSSES = 5
/** May answer with words of its own that mean nothing for others. */
const SCRIPT = /^(EVAL|FCALL)/

/** Sends a call, or sends it again. `place`: that among the writes that were refused, before those that were not sent yet. */
export type Send<T> = (deadline: number, place?: number) => Promise<T>

export interface RepeatsSettings {
  readonly settings: Settings
  readonly link: MasterLink
  readonly clock: CoarseClock
  readonly ends: CallEnds
  /** Aborts when the shard has closed: nobody pauses any more. */
  readonly closed: AbortSignal
}

/** What is sent again, when, and how it ends when it may not be (R10). */
export class Repeats {
  /** Of all calls, for stats. */
  count = 0
  readonly #settings: Settings
  readonly #link: MasterLink
  readonly #clock: CoarseClock
  readonly #ends: CallEnds
  readonly #closed: AbortSignal

  constructor({ settings, link, clock, ends, closed }: RepeatsSettings) {
    this.#settings = settings
    this.#link = link
    this.#clock = clock
    this.#ends = ends
    this.#closed = closed
  }

  /** Sends a call that failed with `failure` again until it is answered, its deadline comes, or it may not be repeated. */
  async run<T>(
    failure: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    since: number,
    send: Send<T>,
  ): Promise<T> {
    const deadline = this.#ends.deadline(since, options)
    let backoff: Backoff | undefined
    let error = failure
    let sentAt = since
    let mayHaveRun = false
    let losses = 0
    const inLine = this.keepsOrder(profile, options)
    let place: number | undefined
    try {
      for (;;) {
        let pause = this.#judge(error, profile, options, deadline, sentAt)
        if (pause && inLine && isOfTheServer(error)) {
          place ??= this.#link.refusals.placeOf(error as Error)
          pause = deadline - this.#clock.now <= LAST_REPEAT_MS
          // Not sent again: and what it was told may be another's refusal, which is over by now (`MasterLink.waitedInVain`).
          if (!pause) this.#link.refusals.refused(error as Error)
        }
        if (classifyFailure(error) === 'lost') {
          mayHaveRun ||= !profile.readOnly
          if (++losses === MOST_LOSSES) {
            throw this.#ends.counted(this.#ends.lost(error, profile, options, deadline, this.#clock.refresh()))
          }
          // The longer the more often: it may be this very call that breaks the connection of all.
          pause = losses > 1
        }
        if (pause) {
          backoff ??= new Backoff(REFUSED_PAUSE)
          const pauseMs = backoff.next()
          const leftMs = Math.max(0, deadline - this.#clock.refresh())
          // Not sent once more with no time left for an answer: the refusal is known, a try without an answer is not.
          const isLast = pauseMs + LAST_REPEAT_MS >= leftMs
          // A timer may come a little early.
          await pausing(isLast ? Math.ceil(leftMs) + 1 : pauseMs, options?.abortSignal, this.#closed)
          if (this.#clock.refresh() >= deadline) this.#judge(error, profile, options, deadline, sentAt)
        }
        this.count++
        sentAt = this.#clock.refresh()
        try {
          return await send(deadline, place)
        } catch (next) {
          // What it waited for has not come: it ends as the server told it, not as one that was never sent.
          const wasRefused = error instanceof ErrorReply && isNotSent(next) && !this.#closed.aborted
          error = wasRefused && this.#clock.refresh() >= deadline - LAST_REPEAT_MS ? error : next
        }
      }
    } catch (end) {
      throw mayHaveRun ? this.#inDoubt(end, profile, options, deadline) : end
    }
  }

  /** Whether a write, when refused, is to be sent again before those made after it. */
  keepsOrder(profile: CommandProfile, options: CallOptions | undefined): boolean {
    if (profile.readOnly || this.#settings.sharedConnections > 1 || SCRIPT.test(profile.name)) return false
    return options?.replicaAck === undefined && !this.#link.slow.takes(options)
  }

  /** With `retry: 'always'` a write may have run at the first try although the last one was not sent. */
  #inDoubt(end: unknown, profile: CommandProfile, options: CallOptions | undefined, deadline: number): unknown {
    if (end instanceof ShardedSentinelPoolError) {
      if ((end as { outcome?: string }).outcome !== 'not-sent') return end
    } else if (classifyFailure(end) === 'answered' || classifyFailure(end) === 'caller') return end
    return this.#ends.lost(end, profile, options, deadline, this.#clock.refresh())
  }

  /** Decides whether a failed call is sent again (true: after a pause). @throws what the caller gets otherwise */
  #judge(
    error: unknown,
    profile: CommandProfile,
    options: CallOptions | undefined,
    deadline: number,
    sentAt: number,
  ): boolean {
    if (error instanceof ShardedSentinelPoolError) throw this.#ends.counted(error)
    const kind = classifyFailure(error)
    if (kind === 'answered' || kind === 'caller') throw error
    const retry = options?.retry ?? this.#settings.retry
    const now = this.#clock.refresh()
    if (kind === 'full') throw this.#ends.full(error)
    if (kind === 'lost') {
      const repeatable = retry === 'always' || (retry === 'safe' && profile.readOnly)
      if (!repeatable || now >= deadline)
        throw this.#ends.counted(this.#ends.lost(error, profile, options, deadline, now))
      return false
    }
    if (kind === 'moved' || kind === 'stale-login') this.refused(error as ErrorReply, sentAt)
    if (retry === 'never' || now >= deadline) throw this.#ends.refused(error, profile, options, now >= deadline)
    return kind !== 'not-sent'
  }

  /** A reply that says the node cannot serve: unless it is from the connection before, the master is looked for. */
  refused(reply: ErrorReply, sentAt: number): void {
    if (this.#link.verifiedAt > sentAt) return
    if (classifyFailure(reply) === 'stale-login') this.#link.loginLost(reply)
    else this.#link.lost(reasonOf(reply), reply)
  }
}

/** TRYAGAIN is about a key; all else that is refused for now is refused to everybody. */
function isOfTheServer(error: unknown): boolean {
  return error instanceof ErrorReply && replyCode(error) !== 'TRYAGAIN'
}

function isNotSent(error: unknown): boolean {
  return (error as { outcome?: string }).outcome === 'not-sent'
}

async function pausing(ms: number, signal: AbortSignal | undefined, closed: AbortSignal): Promise<void> {
  if (signal?.aborted) throw new AbortError()
  if (closed.aborted) return
  const over = new AbortController()
  const end = () => over.abort()
  const stopListening = [onAbort(closed, end), signal && onAbort(signal, end)]
  await sleep(ms, over.signal).catch(() => {})
  for (const stop of stopListening) stop?.()
  if (signal?.aborted) throw new AbortError()
}
