import type { Finding, Severity } from './finding.js'
import type { TopologyPicture } from './picture.js'
import { masterFindings } from './rules/masters.js'
import { placementFindings } from './rules/placement.js'
import { quorumFindings } from './rules/quorum.js'
import { replicaFindings } from './rules/replicas.js'
import { sentinelFindings } from './rules/sentinels.js'

export type { Finding, FindingCode, Severity } from './finding.js'

const RULES = [sentinelFindings, quorumFindings, masterFindings, replicaFindings, placementFindings]
const ORDER: readonly Severity[] = ['error', 'warning', 'notice']

/** Everything in the picture that makes failovers fail, or calls fail now; the worst first. Pure: no I/O, no clock. */
export function diagnose(picture: TopologyPicture): readonly Finding[] {
  const findings = RULES.flatMap((rule) => rule(picture))
  return findings.sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
}

/** `failing`: something is an error. `at-risk`: warnings only. `healthy`: nothing, or notices. */
export type Verdict = 'healthy' | 'at-risk' | 'failing'

export function verdictOf(findings: readonly Finding[]): Verdict {
  if (findings.some(({ severity }) => severity === 'error')) return 'failing'
  return findings.some(({ severity }) => severity === 'warning') ? 'at-risk' : 'healthy'
}
