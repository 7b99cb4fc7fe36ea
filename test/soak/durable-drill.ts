/** `npm run durable-drill -- --failovers 50`: acknowledged writes lost over so many kill -9, with `withReplicaAck` and without. */
import { parseArgs } from 'node:util'
import { durableDrill } from './drill.js'

const { values } = parseArgs({ options: { failovers: { type: 'string', default: '50' } } })
const report = await durableDrill(Number(values.failovers), (line) => console.log(line))
for (const [name, { failovers, acknowledged, lost }] of Object.entries(report)) {
  console.log(`${name}: ${lost} of ${acknowledged} acknowledged writes lost over ${failovers} kill -9 failovers`)
}
process.exitCode = report.withReplicaAck.lost === 0 ? 0 : 1
