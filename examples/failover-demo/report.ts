import type { ShardStats } from '../library.js'
import { paint } from './display.js'
import type { ShardAudit } from './ledger.js'
import { table } from './table.js'
import type { ShardTally } from './tally.js'
import type { TimeLine } from './time-line.js'

export interface Findings {
  readonly victim: string
  readonly tallies: readonly ShardTally[]
  readonly stats: readonly ShardStats[]
  readonly audits: readonly ShardAudit[]
  readonly timeLine: TimeLine
  /** Every call of the pool ends within this; longer is hung. */
  readonly boundMs: number
  /** Operations that had not ended when the demo did. */
  readonly neverEnded: number
}

export interface Verdict {
  readonly good: boolean
  readonly sentence: string
}

/** What the demo promises, judged. */
export function judge(findings: Findings): Verdict[] {
  const { victim, tallies, stats, audits, timeLine, boundMs, neverEnded } = findings
  const others = tallies.filter((tally) => tally.shard !== victim)
  const otherErrors = sum(others, (tally) => tally.failed)
  const anew = sum(
    stats.filter((one) => one.name !== victim),
    (one) => one.failovers + one.reconnects,
  )
  const longest = Math.round(Math.max(...tallies.map((tally) => tally.longestMs)))
  const doubled = sum(audits, (audit) => audit.doubled)
  const lostAfter = sum(audits, (audit) => audit.lostAfter)
  const lostOnOthers = sum(audits, (audit) => (audit.shard === victim ? 0 : audit.lostBefore))
  const stray = sum(audits, (audit) => audit.stray)
  const firstWrite = timeLine.firstWriteMs
  return [
    firstWrite === undefined
      ? { good: false, sentence: `${victim} took no write after the kill` }
      : { good: true, sentence: `${victim} took writes again ${Math.round(firstWrite)} ms after the kill` },
    {
      good: otherErrors === 0 && anew === 0,
      sentence: `the other shards: ${otherErrors} errors, ${anew} connections made anew`,
    },
    {
      good: neverEnded === 0 && longest <= boundMs,
      sentence: `hung: ${neverEnded} operations; the longest wait was ${longest} ms, the bound is ${boundMs} ms`,
    },
    { good: doubled === 0, sentence: `doubled: ${doubled} writes` },
    {
      good: lostAfter === 0 && lostOnOthers === 0,
      sentence: `lost: ${lostAfter + lostOnOthers} writes that a living master had acknowledged`,
    },
    { good: stray === 0, sentence: `sessions where they should not be: ${stray}` },
  ]
}

export function report(findings: Findings): string {
  const { victim, tallies, stats, audits, timeLine } = findings
  const mark = (shard: string) => (shard === victim ? `${shard} (killed)` : shard)
  const operations = tallies.map((tally, i) => [
    mark(tally.shard),
    tally.operations,
    tally.reads,
    tally.writes,
    tally.failed,
    `${Math.round(tally.longestMs).toLocaleString('en')} ms`,
    stats[i]!.failovers,
    [...tally.errors].map(([code, n]) => `${n} x ${code}`).join(', ') || 'none',
  ])
  const data = audits.map((a) => [
    mark(a.shard),
    a.sessionsFound,
    a.acknowledged,
    a.unknown,
    a.found,
    a.lostBefore,
    a.lostAfter,
    a.doubled,
  ])
  return [
    '',
    paint('bold', 'What the app saw'),
    ...table([
      ['shard', 'operations', 'reads', 'writes', 'errors', 'longest wait', 'failovers', 'errors by code'],
      ...operations,
    ]),
    '',
    paint('bold', `The failover of ${victim}`),
    ...timeLine.moments.map(({ atMs, what }) => `${`+${Math.round(atMs)} ms`.padStart(9)}  ${what}`),
    '',
    paint('bold', 'The data, read back from every master itself'),
    ...table([
      ['shard', 'sessions', 'acknowledged', 'unknown', 'found', 'lost at the kill', 'lost after', 'doubled'],
      ...data,
    ]),
    'Counted are the touches of the sessions that are there, and every write that is missing.',
    'Lost at kill: the killed master had acknowledged it and its replica not yet heard of it',
    '(Redis replicates asynchronously).',
    '',
    ...judge(findings).map(({ good, sentence }) => `${good ? paint('green', 'ok ') : paint('red', 'BAD')} ${sentence}`),
  ].join('\n')
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
