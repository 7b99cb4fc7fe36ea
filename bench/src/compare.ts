/*
 * Two or more contenders beside the bare client, in every workload or in those named: for judging a change before it is
 * kept. Builds of the library are told apart by their folder:
 *
 *   node bench/start.mjs compare pool 'pool?dist=<folder>/index.js' [workload@in-flight …]
 *
 * From the environment: ROUNDS (7), SLICES (8), MS of a slice (50).
 */
import { table } from './figures.js'
import { Fleet } from './fleet.js'
import { HEAD, MEASURED, measureAll, rowsOf } from './measure.js'
import { fill, startServers } from './servers.js'

const rounds = Number(process.env.ROUNDS ?? 7)
const slices = Number(process.env.SLICES ?? 8)
const ms = Number(process.env.MS ?? 50)
const given = process.argv.slice(2)
const names = ['bare', ...given.filter((word) => !word.includes('@'))]
const wanted = given.filter((word) => word.includes('@'))
const tasks = MEASURED.filter(({ label }) => wanted.length === 0 || wanted.includes(label))

const { servers, close } = await startServers(4, 1)
const fleet = await Fleet.start(names, servers)
try {
  for (const task of tasks) {
    await fill(servers, task.size)
    const results = await measureAll(fleet, [task], { rounds, slices, ms, names })
    console.log(table(HEAD, rowsOf(results)))
  }
} finally {
  fleet.close()
  await close()
}
