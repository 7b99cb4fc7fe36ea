import { diagnose, type Finding, inspectTopology, type Severity, verdictOf } from '../../index.js'
import { type Command, EXIT } from '../command.js'
import type { Color, Paint } from '../io.js'
import { readSettings } from '../settings.js'
import { plural, wrap } from '../text.js'

const MARKS: Readonly<Record<Severity, readonly [mark: string, color: Color]>> = {
  error: ['✗', 'red'],
  warning: ['!', 'yellow'],
  notice: ['·', 'dim'],
}

const VERDICTS = {
  healthy: ['green', 'Healthy: a failover would work.'],
  'at-risk': ['yellow', 'At risk: a failover would work, but slowly, or with a loss that could be avoided.'],
  failing: ['red', 'Failing: a failover would fail, or calls fail already.'],
} as const

export const doctor: Command = {
  name: 'doctor',
  summary: 'Find everything that would make a failover fail, with cause and cure',
  synopsis: '[--strict] [--json]',
  description: `Asks every sentinel and every data node what it is and believes, as the pool would reach them, and
    judges: sentinels (reachable, enough, in agreement, awake, quorum), names, masters (ROLE, reachable from here), replicas
    (there, linked, fresh), min-replicas-to-write, ACL rights, TLS, placement claims, key shares, clocks. Changes nothing.

    Exit code 0 when no error is found (with --strict: no warning either), 1 when one is.`,
  examples: ['--masters cache-a,cache-b --sentinels 10.0.0.1:26379', '-c pool.json --strict --json'],
  flags: [
    { name: 'strict', help: 'Exit code 1 for warnings too' },
    { name: 'json', help: 'Verdict, findings and the whole picture as one JSON object' },
    { name: 'timeout', value: '<ms>', help: 'Bound on each server. Default 2000' },
  ],
  takesSettings: true,
  words: [0, 0],
  async run({ flags, io, paint, signal }) {
    const options = await readSettings(flags, io.env)
    const timeoutMs = flags.number('timeout', 2_000, 10, 600_000)
    const picture = await inspectTopology(options, { timeoutMs, signal })
    const findings = diagnose(picture)
    const verdict = verdictOf(findings)
    if (flags.has('json')) {
      io.out(`${JSON.stringify({ verdict, findings, picture }, undefined, 2)}\n`)
    } else {
      const nodes = picture.shards.reduce((sum, { master, others }) => sum + (master ? 1 : 0) + others.length, 0)
      const asked = `${plural(picture.shards.length, 'shard')}, ${plural(picture.sentinels.length, 'sentinel')}, ${plural(nodes, 'data node')}`
      io.out(`Asked ${asked} in ${Math.round(picture.tookMs)} ms.\n\n`)
      for (const finding of findings) io.out(`${describeFinding(finding, paint, io.columns)}\n\n`)
      const [color, sentence] = VERDICTS[verdict]
      io.out(`${paint(color, sentence)} ${count(findings)}\n`)
    }
    const bad = verdict === 'failing' || (verdict === 'at-risk' && flags.has('strict'))
    return bad ? EXIT.trouble : EXIT.ok
  },
}

export function describeFinding(
  { severity, subject, code, cause, cure }: Finding,
  paint: Paint,
  columns: number,
): string {
  const [mark, color] = MARKS[severity]
  const width = Math.min(Math.max(columns, 60), 110)
  const head = `${paint(color, `${mark} ${subject}`)} ${paint('dim', code)}`
  return `${head}\n${wrap(cause, width, '    ')}\n${wrap(`Cure: ${cure}`, width, '    ')}`
}

function count(findings: readonly Finding[]): string {
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length
  return `(${plural(of('error'), 'error')}, ${plural(of('warning'), 'warning')}, ${plural(of('notice'), 'notice')})`
}
