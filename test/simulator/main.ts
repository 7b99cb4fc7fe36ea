/**
 * `npm run simulate -- --seed 123` replays one run and tells its steps (with `--packets` every packet too); `-- --seeds 1000 [--from 0]` runs many and stops at
 * the first one in which something does not hold. Ends with code 1 then.
 */
import { parseArgs } from 'node:util'
import { type SimulationResult, simulate } from './simulate.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: '0' },
    seconds: { type: 'string' },
    sabotage: { type: 'boolean', default: false },
    packets: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})

function report({ seed, violation, trace, virtualMs, events }: SimulationResult, lines: number): void {
  console.log(trace.slice(-lines).join('\n'))
  console.log(`seed ${seed}: ${violation?.message ?? 'all holds'} (${Math.round(virtualMs)} ms, ${events} events)`)
  if (violation !== undefined) console.log(`replay it with: npm run simulate -- --seed ${seed}`)
}

async function many(from: number, count: number): Promise<boolean> {
  const startedAt = performance.now()
  const limitMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds) * 1_000
  const sums = { runs: 0, calls: 0, failovers: 0, virtualMs: 0, events: 0, failed: 0 }
  const codes: Record<string, number> = {}
  const failures: Record<string, number[]> = {}
  for (let seed = from; seed < from + count && performance.now() - startedAt < limitMs; seed++) {
    const result = await simulate(seed, { sabotage: values.sabotage })
    sums.runs++
    sums.calls += result.calls
    sums.failovers += result.failovers
    sums.virtualMs += result.virtualMs
    sums.events += result.events
    for (const [code, n] of Object.entries(result.codes)) codes[code] = (codes[code] ?? 0) + n
    if (result.violation === undefined) continue
    sums.failed++
    if (!values['keep-going']) {
      report(result, 60)
      return false
    }
    const kind = result.violation.message.split('\n', 1)[0]!.replace(/\d+/g, '#')
    failures[kind] = [...(failures[kind] ?? []), seed]
  }
  const tookMs = Math.round(performance.now() - startedAt)
  console.log(
    `${sums.runs} runs, ${sums.calls} calls, ${sums.failovers} failovers in ${Math.round(sums.virtualMs / 1000)} simulated s, ` +
      `${sums.events} events, ${tookMs} ms`,
  )
  console.log(`calls ended: ${JSON.stringify(codes)}`)
  for (const [kind, seeds] of Object.entries(failures)) {
    console.log(`${seeds.length} x ${kind}: seeds ${seeds.slice(0, 8).join(', ')}`)
  }
  return sums.failed === 0
}

if (values.seed !== undefined) {
  const result = await simulate(Number(values.seed), { packets: values.packets, sabotage: values.sabotage })
  report(result, Number.POSITIVE_INFINITY)
  process.exitCode = result.violation === undefined ? 0 : 1
} else {
  process.exitCode = (await many(Number(values.from), Number(values.seeds))) ? 0 : 1
}
