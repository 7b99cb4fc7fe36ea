/**
 * A process that hosts a topology and is then ended by the test, to see that no server stays. It prints one line of JSON
 * when the topology runs. `mode`: 'idle' waits for a signal; 'throw' dies of an uncaught exception; 'leave' ends by itself
 * without having closed anything.
 */
import { LocalTopology } from '../../src/testing/index.js'

const mode = process.argv[2]
const topology = await LocalTopology.start({ replicas: 0, sentinels: 1 })
const pids = topology.nodes.map((node) => node.pid)
process.stdout.write(`${JSON.stringify({ pids, folder: topology.folder })}\n`, () => {
  if (mode === 'idle') setInterval(() => {}, 60_000)
  if (mode === 'throw') throw new Error('on purpose')
})
