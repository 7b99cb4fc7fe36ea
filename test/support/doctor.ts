import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding, FindingCode, PoolOptions, Verdict } from '../../src/index.js'
import type { LocalTopology } from '../../src/testing/index.js'
import { runCli } from './run-cli.js'
import { until } from './waiting.js'

export interface Diagnosis {
  readonly code: number
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  /** The finding of that code, if any. */
  find(code: FindingCode): Finding | undefined
}

/** Flags of the command line that say which topology. */
export function flagsOf(topology: LocalTopology, options: Partial<PoolOptions> = {}): string[] {
  const path = join(topology.folder, `options-${Math.random()}.json`)
  const { masters, sentinels, addressMap } = topology
  writeFileSync(path, JSON.stringify({ masters, sentinels, addressMap, ...options }))
  return ['--config', path]
}

/** What `doctor --json` says of a topology. */
export async function doctorOf(topology: LocalTopology, options: Partial<PoolOptions> = {}): Promise<Diagnosis> {
  const { code, out, err } = await runCli(['doctor', '--json', '--timeout', '1500', ...flagsOf(topology, options)])
  if (out === '') throw new Error(`doctor said nothing but: ${err}`)
  const { verdict, findings } = JSON.parse(out) as { verdict: Verdict; findings: Finding[] }
  return { code, verdict, findings, find: (wanted) => findings.find((finding) => finding.code === wanted) }
}

/** Asks doctor again and again until it finds that: sentinels take their time to notice. */
export async function untilFound(
  topology: LocalTopology,
  wanted: FindingCode,
  options: Partial<PoolOptions> = {},
): Promise<Diagnosis & { readonly finding: Finding }> {
  let found: (Diagnosis & { readonly finding: Finding }) | undefined
  await until(`doctor to find ${wanted}`, async () => {
    const diagnosis = await doctorOf(topology, options)
    const finding = diagnosis.find(wanted)
    if (finding !== undefined) found = { ...diagnosis, finding }
    return finding !== undefined
  })
  return found!
}
