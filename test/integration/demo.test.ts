import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Ledger } from '../../examples/failover-demo/ledger.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Demo {
  readonly child: ChildProcess
  /** Where it puts its servers' folders: what works in there, or was told of it, is the demo's. */
  readonly folder: string
  readonly output: () => string
  readonly ended: Promise<number | string>
}

/** The demo as `npm start` runs it, without a terminal. */
function startDemo(context: TestContext): Demo {
  const folder = mkdtempSync(`${realpathSync(tmpdir())}/demo-test-`)
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/failover-demo.ts'], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  context.after(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'nothing'))
  })
  return { child, folder, output: () => text, ended }
}

/** Resolves when the demo has printed `what`; rejects when it ended without. */
function printed(demo: Demo, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (demo.output().includes(what)) resolve()
    }
    demo.child.stdout?.on('data', look)
    void demo.ended.then(() => reject(new Error(`ended without '${what}':\n${demo.output()}`)))
    look()
  })
}

/** Command lines of the processes that work in the demo's folder or have it in their environment, as the kernel tells it. */
function processesOf(demo: Demo): string[] {
  const pids = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))
  return pids.flatMap((pid) => {
    try {
      const at = readlinkSync(`/proc/${pid}/cwd`)
      const environment = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
      const ours = at.startsWith(demo.folder) || environment.includes(`TMPDIR=${demo.folder}`)
      return ours ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`] : []
    } catch {
      return [] // gone meanwhile, or somebody else's
    }
  })
}

function assertNothingLeft(demo: Demo): void {
  assert.deepEqual(processesOf(demo), [])
  assert.deepEqual(
    readdirSync(demo.folder).filter((name) => !name.startsWith('tsx-')),
    [],
  )
}

const linux = { skip: process.platform === 'linux' ? false : '/proc is how leftovers are found' }

test('the demo ends by itself with code 0, its table tells one failover, and no server is left', linux, async (t) => {
  const demo = startDemo(t)
  await printed(demo, 'A session store')
  const running = processesOf(demo).filter((line) => line.includes('redis-server'))
  assert.equal(running.length, 9, `3 masters, 3 replicas and 3 sentinels run:\n${running.join('\n')}`)
  const code = await demo.ended
  const text = demo.output()
  assert.equal(code, 0, text)
  assertNothingLeft(demo)

  assert.ok(!text.includes('\x1b'), 'without a terminal there are plain lines')
  assert.match(text, /^ +3\.\d s {2}cache-a +\d+\/s {2}cache-b +\d+\/s {2}cache-c +\d+\/s$/m)
  for (const shard of ['cache-a', 'cache-c']) {
    assert.match(text, new RegExp(`^${shard}( +[\\d,]+){3} +0 +[\\d,]+ ms +0 +none$`, 'm'))
  }
  assert.match(text, /^cache-b \(killed\)( +[\d,]+){3} +\d+ +[\d,]+ ms +1 /m)
  for (const what of ['killed: SIGKILL', 'connection lost', 'address verified', 'first write', 'switch heard']) {
    assert.match(text, new RegExp(`^ *\\+\\d+ ms {2}${what}`, 'm'), what)
  }
  assert.match(text, /^ok {2}cache-b took writes again \d+ ms after the kill$/m)
  assert.match(text, /^ok {2}doubled: 0 writes$/m)
  assert.match(text, /^ok {2}lost: 0 writes that a living master had acknowledged$/m)
  assert.doesNotMatch(text, /^BAD/m)
})

const moments = [
  { signal: 'SIGINT', code: 130, moment: 'while the servers start', after: 'Starting' },
  { signal: 'SIGINT', code: 130, moment: 'in the middle of the failover', after: 'kill -9' },
  { signal: 'SIGTERM', code: 143, moment: 'under way', after: '1.0 s' },
] as const

for (const { signal, code, moment, after } of moments) {
  test(`the demo: ${signal} ${moment} ends it with code ${code} and leaves no process behind`, linux, async (t) => {
    const demo = startDemo(t)
    await printed(demo, after)
    demo.child.kill(signal)
    assert.equal(await demo.ended, code, demo.output())
    assertNothingLeft(demo)
  })
}

test("the demo's ledger tells what was lost at the kill from what was lost after it, and what ran twice", () => {
  const ledger = new Ledger('b')
  const [early, late, doubled, gone, back] = ['early', 'late', 'doubled', 'gone', 'back'].map((id) =>
    ledger.open(id, 'b'),
  )
  for (const entry of [early, late, doubled, gone, back]) ledger.created(entry!, 'acknowledged')
  ledger.touched(early!, 'acknowledged', 1)
  ledger.touched(early!, 'acknowledged', 2)
  ledger.touched(doubled!, 'acknowledged', 1)
  ledger.touched(doubled!, 'unknown')
  ledger.expired(back!, 'acknowledged')
  ledger.switched()
  ledger.touched(late!, 'acknowledged', 1)
  ledger.touched(late!, 'refused')
  const found = new Map([
    ['early', 1], // one touch of the old master is missing
    ['late', 0], // the new master's touch is missing
    ['doubled', 3], // one acknowledged, one unknown, and one too many
    ['back', 0], // it was expired
    ['stranger', 0],
  ]) // and 'gone' was created by the old master and is not there
  const { lostBefore, lostAfter, doubled: twice, stray, unknown } = ledger.audit('b', found)
  assert.deepEqual(
    { lostBefore, lostAfter, twice, stray, unknown },
    { lostBefore: 3, lostAfter: 1, twice: 1, stray: 1, unknown: 1 },
  )
  assert.equal(ledger.audit('a', new Map([['late', 1]])).stray, 1)
})
