import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { formatAddress } from '../../src/address.js'
import { PLACEMENT_KEY } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { until } from '../support/waiting.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Run {
  readonly out: () => string
  readonly ended: Promise<void>
  stop(): void
}

/** Starts an example as a user does. `ended` rejects with what it said when its exit code is not 0. */
function start(topology: LocalTopology, name: string, env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${name}.ts`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      MASTERS: topology.masters.join(','),
      SENTINELS: topology.sentinels.map(formatAddress).join(','),
      ...env,
    },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${name} ended with ${code}: ${out}${err}`)),
    )
  })
  ended.catch(() => {})
  return { out: () => out, ended, stop: () => child.kill('SIGTERM') }
}

async function outputOf(topology: LocalTopology, name: string, env?: Record<string, string>): Promise<string> {
  const run = start(topology, name, env)
  await run.ended
  return run.out()
}

/** Waits for the first line; fails at once when the example ends before it. */
async function firstLine(run: Run): Promise<string> {
  await Promise.race([until('a first line', () => run.out().includes('\n'), 30_000), run.ended])
  return run.out().split('\n')[0]!
}

describe('examples', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'], sentinels: 1 })
  })
  after(() => topology.close())

  it('each of them but the demo has at most 60 lines and says on top what it shows', () => {
    for (const file of readdirSync(join(root, 'examples')).filter((one) => /\.ts$/.test(one))) {
      if (['failover-demo.ts', 'library.ts', 'quick-start.ts'].includes(file)) continue
      const text = readFileSync(join(root, 'examples', file), 'utf8')
      assert.match(text, /^\/\*\*\s/, file)
      assert.ok(text.split('\n').length <= 61, file)
    }
  })

  it('express-sessions: a visitor is known again, and the server ends gracefully', async () => {
    const run = start(topology, 'express-sessions')
    const url = await firstLine(run)
    const first = await fetch(url)
    assert.match(await first.text(), /^visit 1, kept on cache-[abc]$/)
    const cookie = first.headers.get('set-cookie')!.split(';')[0]!
    assert.match(await (await fetch(url, { headers: { cookie } })).text(), /^visit 2, kept on cache-[abc]$/)
    assert.equal((await fetch(`${url}ready`)).status, 200)
    run.stop()
    await run.ended
    assert.match(run.out(), /closed\n$/)
  })

  it('rate-limiter: five pass, the sixth is refused', async () => {
    const out = await outputOf(topology, 'rate-limiter')
    assert.match(out, /request 5: ok, 0 left\nrequest 6: refused, try again in a moment\nrequest 7: refused/)
  })

  it('keyv-cache: the second question is answered from the cache', async () => {
    assert.equal(await outputOf(topology, 'keyv-cache'), '400 400 true\n[ 4900, 19900, undefined ]\n')
  })

  it('bullmq-worker: every job is done and reported', async () => {
    const out = await outputOf(topology, 'bullmq-worker')
    for (const to of ['ada', 'bob', 'eve']) assert.ok(out.includes(`mail to ${to}\n`))
    assert.equal(out.split('sent\n').length - 1, 3)
  })

  it('blocking-worker: finishes the job in hand when it is told to end, and leaves nothing half done', async () => {
    const run = start(topology, 'blocking-worker')
    await firstLine(run)
    const holders = await Promise.all(topology.shards.map(({ nodes }) => nodes[0]!))
    const { createRing } = await import('../../src/index.js')
    const owner = holders[createRing({ shards: topology.masters }).locate('{jobs}:waiting')]!
    await owner.command('RPUSH', '{jobs}:waiting', 'one', 'two', 'three')
    await until('the first job', () => run.out().includes('done: one'), 20_000)
    run.stop()
    await run.ended
    assert.match(run.out(), /stopped\n$/)
    assert.equal(await owner.command('LLEN', '{jobs}:working'), 0)
  })

  it('transactions: no more is moved than there is', async () => {
    assert.equal(await outputOf(topology, 'transactions'), "5 of 6 transfers\n[ '0', '100' ]\n")
  })

  it('pub-sub: messages of all shards arrive', async () => {
    assert.equal(
      await outputOf(topology, 'pub-sub'),
      'room:blue: hello blue\nroom:green: hello green\nroom:red: hello red\n',
    )
  })

  it('replica-reads: what was written is read from a replica', async () => {
    assert.equal(
      await outputOf(topology, 'replica-reads'),
      'latest: a lamp\nsooner or later: a lamp\nread from a replica: true\n',
    )
  })

  it('durable-writes: a write resolves when a replica has it, and says so when too few have', async () => {
    const out = await outputOf(topology, 'durable-writes')
    assert.match(out, /^order 1 is on two servers\norder 2: [A-Z_]+\n\[ 'paid', 'paid' \]\n$/)
  })

  it('nest-provider: the pool is connected before the app starts and closed with it', async () => {
    assert.equal(await outputOf(topology, 'nest-provider'), 'hello Ada, for the 1. time\n')
  })

  it('from-twemproxy: shares follow the weights, and mGet reaches over shards', async () => {
    const out = await outputOf(topology, 'from-twemproxy')
    assert.match(out, /^cache-a owns \d\d %\ncache-b owns \d\d %\ncache-c owns \d\d %\n\[ 'Ada', 'Bob', 'Eve' \]\n$/)
    const [a, , c] = [...out.matchAll(/owns (\d+) %/g)].map(([, percent]) => Number(percent))
    assert.ok(c! > a! * 1.4, out)
  })

  it('from-hashring: every key stays where npm hashring has put it', async () => {
    assert.equal(await outputOf(topology, 'from-hashring'), '1000 of 1000 keys stay where they are\n')
  })

  it('from-jedis: keys are where Java has put them, and another order is refused', async () => {
    const out = await outputOf(topology, 'from-jedis')
    const [tagged, plain] = ['{user:1000}.followers', 'user:1000'].map(
      (key) => new RegExp(`^${key.replace(/[{}.]/g, '\\$&')} is on (\\S+)$`, 'm').exec(out)?.[1],
    )
    assert.equal(tagged, plain)
    assert.match(out, /\nPLACEMENT_MISMATCH\n$/)
    for (const { nodes } of topology.shards) await nodes[0]!.command('DEL', PLACEMENT_KEY)
  })

  it('metrics: every gauge that the Grafana dashboard draws is there, and the probes answer', async () => {
    const run = start(topology, 'metrics')
    const url = await firstLine(run)
    const text = await (await fetch(url)).text()
    assert.match(text, /redis_pool_shard_ready\{shard="cache-b"\} 1\n/)
    const dashboard = readFileSync(join(root, 'examples/grafana-dashboard.json'), 'utf8')
    const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] }
    const drawn = panels.flatMap(({ targets }) =>
      (targets ?? []).flatMap(({ expr }) => expr.match(/redis_pool_\w+/g) ?? []),
    )
    assert.ok(drawn.length > 5)
    for (const metric of drawn)
      assert.ok(text.includes(`# TYPE ${metric.replace(/_(bucket|sum|count)$/, '')} `), metric)
    const base = url.replace('/metrics', '')
    assert.equal((await fetch(`${base}/live`)).status, 200)
    assert.equal((await fetch(`${base}/ready`)).status, 200)
    run.stop()
    await run.ended
  })
})

describe('the example of TLS and users', () => {
  it('tls-acl: an app user writes and reads, and may not flush', async () => {
    const { writeFileSync } = await import('node:fs')
    await using topology = await LocalTopology.start({
      shards: ['cache-a'],
      replicas: 0,
      sentinels: 1,
      tls: { data: true, sentinels: true },
      acl: ['app on >app-secret ~* &* +@all -@admin -@dangerous +info +role'],
      sentinelAcl: [
        'watcher on >watcher-secret resetchannels &* +auth +client|setname +client|id +hello +ping +subscribe +sentinel|get-master-addr-by-name +sentinel|master +sentinel|sentinels +sentinel|replicas +sentinel|myid',
      ],
    })
    const ca = join(topology.folder, 'client-ca.pem')
    writeFileSync(ca, topology.tls!.ca)
    const env = { CA: ca, APP_PASSWORD: 'app-secret', WATCHER_PASSWORD: 'watcher-secret' }
    assert.equal(await outputOf(topology, 'tls-acl', env), 'kept\nNOPERM\n')
  })
})
