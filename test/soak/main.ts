/**
 * `npm run soak -- --minutes 2 [--seed 1]`: tells each fault, then the report as JSON. Ends with code 1 when
 * something did not hold: a write lost or doubled, a call that hung or was late, a wrong reply, heap or sockets left.
 */
import { parseArgs } from 'node:util'
import { complaints, soak } from './soak.js'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 100_000)
// What hangs in the soak itself must not hold up who waits for it.
setTimeout(
  () => {
    console.log('FAILED: the soak has not come to its end')
    process.exit(1)
  },
  Number(values.minutes) * 60_000 + 120_000,
).unref()
const report = await soak(Number(values.minutes) * 60, seed, (line) => console.log(line))
console.log(JSON.stringify(report, undefined, 2))
const found = complaints(report)
for (const line of found) console.log(`FAILED: ${line}`)
console.log(found.length === 0 ? 'all holds' : `again with: npm run soak -- --minutes ${values.minutes} --seed ${seed}`)
process.exitCode = found.length === 0 ? 0 : 1
