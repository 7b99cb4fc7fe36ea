// `npm run drill -- --failovers 30 --replicas 1`: what planned failovers and kills cost under load, on real servers.
import { parseArgs } from 'node:util'
import { type DrillKind, type DrillRow, median, runDrill } from './failover-drill.js'

const { values } = parseArgs({
  options: { failovers: { type: 'string', default: '30' }, replicas: { type: 'string', default: '1' } },
})
const rounds = Number(values.failovers)
const replicas = Number(values.replicas)
let failed = false

for (const kind of ['planned', 'kill'] as const)
  report(kind, await runDrill(kind, rounds, { replicas, onRow: () => process.stderr.write('.') }))
process.exitCode = failed ? 1 : 0

function report(kind: DrillKind, rows: readonly DrillRow[]): void {
  const line = (name: string, of: (row: DrillRow) => number, unit = ' ms') => {
    const all = rows.map(of)
    console.log(
      `  ${name.padEnd(46)} median ${Math.round(median(all))}${unit}, worst ${Math.round(Math.max(...all))}${unit}`,
    )
  }
  const sum = (of: (row: DrillRow) => number) => rows.reduce((total, row) => total + of(row), 0)
  const errors: Record<string, number> = {}
  for (const row of rows) for (const [code, n] of Object.entries(row.errors)) errors[code] = (errors[code] ?? 0) + n
  console.log(
    `\n${kind === 'kill' ? 'kill -9' : 'SENTINEL FAILOVER'}: ${rows.length} failovers, ${replicas} replicas, writes all the while`,
  )
  line('promotion to first write on the new master', (row) => row.writeAfterPromotionMs)
  line('first +switch-master to that write', (row) => row.writeAfterSwitchMs)
  line('longest pause between two kept writes', (row) => row.writePauseMs)
  console.log(
    `  acknowledged writes lost: ${sum((row) => row.lost)}, of them called after the switch: ${sum((row) => row.lostAfterSwitch)}`,
  )
  console.log(`  errors on the shard: ${JSON.stringify(errors)}, on the other shard: ${sum((row) => row.otherErrors)}`)
  if (sum((row) => row.lostAfterSwitch + row.otherErrors) > 0) failed = true
  if (kind === 'planned' && (sum((row) => row.lost) > 0 || Object.keys(errors).length > 0)) failed = true
}
