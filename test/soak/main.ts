/** `npm run soak -- --minutes 2 [--seed 1]`: tells each fault, then the report as JSON. Ends with code 1 when something did not hold. */
import { parseArgs } from 'node:util'
import { complaints, soak } from './soak.js'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 100_000)
const report = await soak(Number(values.minutes) * 60, seed, (line) => console.log(line))
console.log(JSON.stringify(report, undefined, 2))
const found = complaints(report)
for (const line of found) console.log(`FAILED: ${line}`)
console.log(found.length === 0 ? 'all holds' : `again with: npm run soak -- --minutes ${values.minutes} --seed ${seed}`)
process.exitCode = found.length === 0 ? 0 : 1
