import type { ProbeReport } from './probe.js'
import type { Moment } from './time-line.js'

export interface DrillReport {
  readonly master: string
  readonly kind: 'failover' | 'kill-sim'
  readonly startedAt: string
  readonly passed: boolean
  /** One sentence each, with whether it held. */
  readonly checks: readonly { readonly good: boolean; readonly sentence: string }[]
  readonly from: string | undefined
  readonly to: string | undefined
  readonly probe: readonly ProbeReport[]
  readonly timeLine: readonly Moment[]
}

/** What a drill must show: the shard came back, nothing is in doubt (but for what a cut line leaves), and nobody else felt it. */
export function judgeDrill(
  kind: DrillReport['kind'],
  master: string,
  settled: boolean,
  probe: readonly ProbeReport[],
): DrillReport['checks'] {
  const own = probe.find(({ shard }) => shard === master)
  const others = probe.filter(({ shard }) => shard !== master)
  const failed = (report: ProbeReport) => Object.values(report.errors).reduce((sum, count) => sum + count, 0)
  const otherErrors = others.reduce((sum, report) => sum + failed(report), 0)
  const unknown = probe.reduce((sum, report) => sum + report.unknown, 0)
  return [
    {
      good: settled,
      sentence: settled ? `${master} takes writes again` : `${master} did not come back in time`,
    },
    {
      good: true,
      sentence: own
        ? `${master} took no write for ${Math.round(own.windowMs)} ms at most; the longest call waited ${Math.round(own.longestMs)} ms; ${failed(own)} of ${own.operations} calls failed`
        : `${master} owns no keys, so the probe had nothing to write there`,
    },
    // A line that is cut takes answers with it; a failover that Sentinel leads should not.
    { good: unknown === 0 || kind === 'kill-sim', sentence: `${unknown} writes ended with an unknown outcome` },
    { good: otherErrors === 0, sentence: `the other shards: ${otherErrors} errors` },
  ]
}

/** A text that a team can file: Markdown. */
export function reportText(report: DrillReport): string {
  const { master, kind, startedAt, passed, checks, from, to, probe, timeLine } = report
  const errors = (counts: ProbeReport['errors']) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || '0'
  return `# Failover drill: ${master}

${startedAt}, ${kind === 'failover' ? 'SENTINEL FAILOVER' : 'connections cut on the client side'}. ${passed ? 'Passed' : 'Failed'}.
Master before: ${from ?? 'unknown'}. Master after: ${to ?? 'unknown'}.

${checks.map(({ good, sentence }) => `- [${good ? 'x' : ' '}] ${sentence}`).join('\n')}

## Probe

| Shard | Calls | Errors | Unknown | Longest wait | Window without a write |
|---|---|---|---|---|---|
${probe.map((p) => `| ${p.shard} | ${p.operations} | ${errors(p.errors)} | ${p.unknown} | ${Math.round(p.longestMs)} ms | ${p.windowMs === 0 ? 'none' : `${Math.round(p.windowMs)} ms, from ${Math.round(p.windowFrom!)} ms on`} |`).join('\n')}

## Time line

| ms | What |
|---|---|
${timeLine.map(({ atMs, what }) => `| ${atMs} | ${what} |`).join('\n')}
`
}
