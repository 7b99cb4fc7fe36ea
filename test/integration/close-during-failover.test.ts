import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { after, afterEach, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { LocalTopology } from '../../src/testing/index.js'

const COMMAND_TIMEOUT_MS = 2_000
const APP = fileURLToPath(new URL('../support/closing-app.ts', import.meta.url))

interface Ending {
  readonly closedAfterMs: number
  readonly codes: Record<string, number>
  readonly resources: readonly string[]
  /** From the end of `close()` to the end of the process. */
  readonly exitedAfterMs: number
  readonly exitCode: number | null
}

describe('an app closes its pool in the middle of a failover', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b'] })
  })
  after(() => topology.close())
  afterEach(async () => {
    for (const node of topology.nodes) {
      node.cont()
      if (node.state === 'down') await node.restart()
    }
    await topology.waitUntilSettled({ hurry: true })
  })

  async function closeAt(closeAfterMs: number, way: string, harm: () => Promise<unknown>): Promise<Ending> {
    const options = { masters: topology.masters, sentinels: topology.sentinels, commandTimeoutMs: COMMAND_TIMEOUT_MS }
    const child = spawn(process.execPath, ['--import', 'tsx', APP, JSON.stringify({ options, closeAfterMs, way })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    const killer = setTimeout(() => child.kill('SIGKILL'), 30_000)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    try {
      assert.deepEqual(JSON.parse((await lines.next()).value), { working: true })
      const harmed = harm()
      if (way !== 'in-handler') child.stdin.write('close\n')
      const ending = JSON.parse((await lines.next()).value)
      const closedAt = performance.now()
      const [exitCode] = await exited
      const exitedAfterMs = performance.now() - closedAt
      await harmed
      return { ...ending, exitCode, exitedAfterMs }
    } finally {
      clearTimeout(killer)
      child.kill('SIGKILL')
    }
  }

  function assertEndsWell({ closedAfterMs, exitedAfterMs, exitCode, resources, codes }: Ending): void {
    assert.ok(closedAfterMs < COMMAND_TIMEOUT_MS + 200, `close() took ${Math.round(closedAfterMs)} ms`)
    assert.equal(exitCode, 0)
    assert.ok(exitedAfterMs < 1_000, `exited ${Math.round(exitedAfterMs)} ms after close(); alive: ${resources}`)
    const known = ['POOL_CLOSED', 'CONNECTION_LOST', 'SHARD_UNAVAILABLE', 'COMMAND_TIMEOUT']
    assert.deepEqual(
      Object.keys(codes).filter((code) => !known.includes(code)),
      [],
    )
  }

  for (const offsetMs of [0, 100, 1_200]) {
    it(`close() ${offsetMs} ms after the master was killed resolves within its bound, and the process exits`, async () => {
      assertEndsWell(await closeAt(offsetMs, 'close', () => topology.killMaster('cache-a')))
    })
  }

  it('close() 300 ms after the master froze resolves within its bound, and the process exits', async () => {
    assertEndsWell(await closeAt(300, 'close', () => topology.freezeMaster('cache-a')))
  })

  it('destroy() 300 ms after the master froze needs no time at all, and the process exits', async () => {
    const ending = await closeAt(300, 'destroy', () => topology.freezeMaster('cache-a'))
    assertEndsWell(ending)
    assert.ok(ending.closedAfterMs < 250, `destroy() took ${Math.round(ending.closedAfterMs)} ms`)
  })

  it('close() inside the failover listener resolves within its bound, and the process exits', async () => {
    assertEndsWell(await closeAt(0, 'in-handler', () => topology.failover('cache-a')))
  })
})
