/*
 * The short form for CI, below a minute: it reports, and fails only when a command at 256 in flight is far below the bare
 * client both in speed and in CPU time, since such machines are noisy.
 */
import { conditions } from './document.js'
import { table } from './figures.js'
import { Fleet } from './fleet.js'
import { HEAD, measureAll, rowsOf, task } from './measure.js'
import { fill, startServers } from './servers.js'

const LEAST = 0.7

const { servers, close } = await startServers(4, 0)
const names = ['bare', 'pool']
const fleet = await Fleet.start(names, servers)
let failed = false
try {
  await fill(servers, 32)
  const tasks = [task('get', 16), task('get', 256), task('set', 256), task('pipeline of 100', 4)]
  const results = await measureAll(fleet, tasks, { rounds: 5, slices: 4, ms: 60, names })
  console.log(table(HEAD, rowsOf(results)))
  console.log(`\n${conditions('npm run bench:quick')}`)
  for (const { name, rate, cpu, task: one } of results) {
    if (name !== 'pool' || one.inFlight !== 256 || Math.max(rate.median, cpu.median) >= LEAST) continue
    console.error(`${one.label}: ${rate.median.toFixed(2)} of the bare client's speed; at least ${LEAST} is asked for`)
    failed = true
  }
  if (!failed) console.log(`\nok: at 256 in flight never below ${LEAST} of the bare client in both`)
} finally {
  fleet.close()
  await close()
}
process.exitCode = failed ? 1 : 0
