/** A server looks ten times a second whether a WAIT is over, and its answer has a way to go: so much of a deadline is kept for it, in ms. */
const ANSWER_MS = 120

/** How long a WAIT may take, in whole ms, so that its number is told within what is left of the call's time. At least 1. */
export function waitWithin(timeoutMs: number, leftMs: number): number {
  return Math.max(1, Math.floor(Math.min(timeoutMs, leftMs - Math.min(ANSWER_MS, leftMs / 4))))
}
