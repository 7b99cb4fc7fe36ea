/**
 * `npm run simulate -- --seed 123` plays one run and tells its steps (with `--packets` every packet too); `-- --seeds 1000
 * [--from 200000]` plays many, `-- --seed 7,9,11` these, and stops at the first one in which something does not hold. Ends with code 1
 * then, and says how to play it again.
 */
import { parseArgs } from 'node:util'
import { PAUSES_FROM } from './options.js'
import { type SimulationResult, simulate } from './simulate.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '300' },
    from: { type: 'string', default: String(PAUSES_FROM) },
    seconds: { type: 'string' },
    sabotage: { type: 'boolean', default: false },
    packets: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})
const { sabotage, packets } = values

/** Tells the last `lines` steps of a run. True when all held. */
async function tell(seed: number, lines: number): Promise<boolean> {
  const result: SimulationResult = await simulate(seed, { trace: true, packets, sabotage })
  const { violation, trace, virtualMs, events } = result
  console.log(trace.slice(-lines).join('\n'))
  console.log(`seed ${seed}: ${violation?.message ?? 'all holds'} (${Math.round(virtualMs)} ms, ${events} events)`)
  if (violation === undefined) return true
  console.log(`replay it with: npm run simulate -- --seed ${seed}${sabotage ? ' --sabotage' : ''}`)
  return false
}

async function many(seeds: Iterable<number>): Promise<boolean> {
  const startedAt = performance.now()
  const limitMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds) * 1_000
  const sums = { runs: 0, calls: 0, failovers: 0, virtualMs: 0, events: 0 }
  const codes: Record<string, number> = {}
  const failures: Record<string, number[]> = {}
  for (const seed of seeds) {
    if (performance.now() - startedAt >= limitMs) break
    const result = await simulate(seed, { sabotage })
    sums.runs++
    sums.calls += result.calls
    sums.failovers += result.failovers
    sums.virtualMs += result.virtualMs
    sums.events += result.events
    for (const [code, n] of Object.entries(result.codes)) codes[code] = (codes[code] ?? 0) + n
    if (result.violation === undefined) continue
    if (!values['keep-going']) {
      if (await tell(seed, 60)) console.log(`seed ${seed} held when it was played again: ${result.violation.message}`)
      return false
    }
    console.log(`seed ${seed}: ${result.violation.message}`)
    const kind = result.violation.message.split('\n', 1)[0]!.replace(/\d+/g, '#')
    failures[kind] = [...(failures[kind] ?? []), seed]
  }
  const tookMs = Math.round(performance.now() - startedAt)
  console.log(
    `${sums.runs} runs, ${sums.calls} calls, ${sums.failovers} failovers in ${Math.round(sums.virtualMs / 1000)} simulated s, ` +
      `${sums.events} events, ${tookMs} ms`,
  )
  console.log(`calls ended: ${JSON.stringify(codes)}`)
  for (const [kind, found] of Object.entries(failures)) {
    console.log(`${found.length} x ${kind}: seeds ${found.slice(0, 8).join(', ')}`)
  }
  return Object.keys(failures).length === 0
}

const named = values.seed?.split(',').map(Number)
const from = Number(values.from)
const all = named ?? Array.from({ length: Number(values.seeds) }, (_, i) => from + i)
const holds = named?.length === 1 ? await tell(named[0]!, Number.POSITIVE_INFINITY) : await many(all)
process.exitCode = holds ? 0 : 1
