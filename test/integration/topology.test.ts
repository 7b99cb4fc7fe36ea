import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { formatAddress, sameAddress } from '../../src/address.js'
import { LocalTopology, type LocalTopologyOptions, type SwitchMessage, TopologyError } from '../../src/testing/index.js'

/** Whether a process of this pid runs. One that has ended and that nobody has collected yet, a zombie, does not. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const code = (expected: string) => (error: unknown) => error instanceof TopologyError && error.code === expected

/** What a topology must be able to do whichever way its servers are secured: fail over, keeping the data. */
async function failsOver(options: LocalTopologyOptions): Promise<void> {
  await using topology = await LocalTopology.start(options)
  const name = topology.masters[0]!
  const master = await topology.currentMaster(name)
  await master.command('SET', 'key', 'value')
  const { from, to } = await topology.failover(name, { until: 'agreed' })
  assert.equal(from, master)
  assert.notEqual(to, master)
  assert.equal(await to.command('GET', 'key'), 'value')
}

/** Says one command in plain text to an address, as a client without our conveniences; gives the first lines back. */
async function say(socket: Socket, ...commands: string[]): Promise<string> {
  socket.write(commands.map((command) => `${command}\r\n`).join(''))
  let heard = ''
  while (heard.split('\r\n').length <= commands.length) {
    const [chunk] = await once(socket, 'data')
    heard += String(chunk)
  }
  return heard
}

describe('topology: three shards under three sentinels', () => {
  let topology: LocalTopology
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'] })
  })
  after(() => topology.close())

  it('has every shard and sentinel up, and each sentinel knows all others and all replicas', async () => {
    assert.deepEqual(topology.masters, ['cache-a', 'cache-b', 'cache-c'])
    assert.equal(topology.nodes.length, 9)
    assert.ok(topology.nodes.every((node) => node.state === 'up' && node.pid !== undefined && runs(node.pid)))
    for (const sentinel of topology.sentinelNodes) {
      const role = await sentinel.role()
      assert.deepEqual(role.role === 'sentinel' && [...role.masters].sort(), topology.masters)
      for (const name of topology.masters) {
        const master = await sentinel.command('SENTINEL', 'MASTER', name)
        assert.ok(Array.isArray(master))
        const field = (key: string) => master[master.indexOf(key) + 1]
        assert.equal(field('flags'), 'master')
        assert.equal(field('num-slaves'), '1')
        assert.equal(field('num-other-sentinels'), '2')
      }
    }
  })

  it('leaves sentinels with their stock periods', async () => {
    const periods = await topology.sentinelNodes[0]!.command('SENTINEL', 'DEBUG')
    assert.ok(Array.isArray(periods))
    assert.equal(Number(periods[periods.indexOf('INFO-PERIOD') + 1]), 10_000)
    assert.equal(Number(periods[periods.indexOf('PUBLISH-PERIOD') + 1]), 2_000)
    assert.equal(Number(periods[periods.indexOf('PING-PERIOD') + 1]), 1_000)
  })

  it('asks the very server it is told to', async () => {
    const [master, replica] = topology.shard('cache-a').nodes
    assert.equal(await master!.command('SET', 'where', Buffer.from('here')), 'OK')
    assert.equal(await master!.command('GET', 'where'), 'here')
    assert.equal(await topology.shard('cache-b').nodes[0]!.command('EXISTS', 'where'), 0)
    await assert.rejects(replica!.command('SET', 'where', 'there'), code('ERROR_REPLY'))
    assert.deepEqual(await topology.replicas('cache-a'), [replica])
    assert.equal(topology.node(replica!.address), replica)
  })

  it('names what there is when asked for a shard that there is not', () => {
    assert.throws(() => topology.shard('cache-x'), /no shard 'cache-x' here: cache-a, cache-b, cache-c/)
  })

  it('fails over on command: the promotion is seen before the sentinels tell of it', async () => {
    const heard: SwitchMessage[] = []
    const end = await topology.onSwitch((message) => heard.push(message))
    const { from, to } = await topology.failover('cache-a')
    assert.equal((await to.role()).role, 'master')
    assert.equal(heard.length, 0)
    assert.equal(await topology.waitForSwitch('cache-a', from), to)
    end()
    assert.equal(new Set(heard.map((message) => message.sentinel)).size, heard.length)
    for (const message of heard) {
      assert.equal(message.name, 'cache-a')
      assert.ok(sameAddress(message.from, from.address) && sameAddress(message.to, to.address))
    }
    assert.equal(await topology.currentMaster('cache-a'), to)
  })

  it('kill -9 of a master: its replica takes over, and the old one comes back on its port as a replica', async () => {
    const killed = await topology.killMaster('cache-b')
    assert.equal(killed.state, 'down')
    assert.equal(killed.pid, undefined)
    await assert.rejects(killed.command('PING'), code('NOT_CONNECTED'))
    const next = await topology.waitForSwitch('cache-b', killed)
    assert.notEqual(next, killed)
    const port = killed.port
    await killed.restart()
    await topology.waitUntilSettled({ hurry: true })
    assert.equal(killed.port, port)
    assert.deepEqual(await topology.replicas('cache-b'), [killed])
    assert.equal(await topology.currentMaster('cache-b'), next)
  })

  it('freeze: a master accepts connections and answers nothing; it goes on after cont', async () => {
    const frozen = await topology.freezeMaster('cache-c')
    assert.equal(frozen.state, 'frozen')
    const socket = connectTcp(frozen.address)
    await once(socket, 'connect')
    socket.destroy()
    const unanswered = assert.rejects(frozen.command('PING'), code('COMMAND_TIMEOUT'))
    const next = await topology.waitForSwitch('cache-c', frozen)
    await unanswered
    assert.notEqual(next, frozen)
    frozen.cont()
    assert.equal(frozen.state, 'up')
    assert.equal(await frozen.command('PING'), 'PONG')
  })

  it('shuts a sentinel down and starts it again with what it knew', async () => {
    const sentinel = topology.sentinelNodes[2]!
    const id = await sentinel.command('SENTINEL', 'MYID')
    await sentinel.shutdown()
    assert.equal(sentinel.state, 'down')
    await sentinel.restart()
    assert.equal(await sentinel.command('SENTINEL', 'MYID'), id)
  })

  it('an isolated sentinel goes on naming the master that the others have moved away from', async () => {
    const stale = topology.sentinelNodes[0]!
    const old = await topology.currentMaster('cache-a')
    await topology.isolateSentinel(0)
    const { to } = await topology.failover('cache-a', { until: 'agreed' })
    await topology.waitUntilSettled({ hurry: true })
    const told = await stale.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'cache-a')
    assert.deepEqual(told, [old.host, String(old.port)])
    assert.equal(await topology.currentMaster('cache-a'), to)
    assert.deepEqual(await topology.replicas('cache-a'), [old])
  })

  it('a wait that cannot end says what it saw last and shows the logs', async () => {
    await assert.rejects(topology.waitForSwitch('cache-a', undefined, { timeoutMs: 50 }), (error: unknown) => {
      assert.ok(code('WAIT_TIMEOUT')(error))
      assert.match(
        (error as Error).message,
        /waited 50 ms for the master of cache-a to change; last seen: sentinels name/,
      )
      assert.match((error as Error).message, /--- sentinel\/0 .*up\n.*\+monitor|\+switch-master/s)
      return true
    })
  })
})

describe('topology: secured servers', () => {
  it('passwords of data nodes and of sentinels are apart, and strangers are refused', async () => {
    await using topology = await LocalTopology.start({ password: 'data "pw"', sentinelPassword: 'own#pw' })
    for (const node of [topology.nodes[0]!, topology.sentinelNodes[0]!]) {
      const socket = connectTcp(node.address)
      assert.match(await say(socket, 'PING'), /^-NOAUTH/)
      const password = node.kind === 'data' ? `"data \\"pw\\""` : 'own#pw'
      assert.match(await say(socket, `AUTH ${password}`, 'PING'), /^\+OK\r\n\+PONG/)
      socket.destroy()
    }
  })

  it('fails over with passwords', () => failsOver({ password: 'a', sentinelPassword: 'b' }))

  it('fails over with the minimal users of the Sentinel documentation and default off', () =>
    failsOver({
      acl: [
        'default off',
        'watcher on >pw allchannels +multi +slaveof +ping +exec +subscribe +config|rewrite +role +publish +info +client|setname +client|kill +script|kill',
      ],
      sentinelLogin: { username: 'watcher', password: 'pw' },
      sentinelAcl: ['default off', 'app on >pw +sentinel|get-master-addr-by-name +subscribe &*'],
    }))

  it('fails over with TLS on both kinds of server, on data nodes alone, and on sentinels alone', async () => {
    await Promise.all([
      failsOver({ tls: { data: true, sentinels: true } }),
      failsOver({ tls: { data: true } }),
      failsOver({ tls: { sentinels: true, clientCertificates: true } }),
    ])
  })

  it('TLS: the CA given to clients proves the server, and a certificate for another name fails', async () => {
    for (const names of [undefined, ['elsewhere.example']]) {
      const tls = { data: true, ...(names ? { names } : {}) }
      await using topology = await LocalTopology.start({ replicas: 0, sentinels: 0, tls })
      const socket = connectTls({ ...topology.nodes[0]!.address, ca: topology.tls!.ca })
      if (names) {
        const [error] = await once(socket, 'error')
        assert.equal((error as NodeJS.ErrnoException).code, 'ERR_TLS_CERT_ALTNAME_INVALID')
      } else {
        await once(socket, 'secureConnect')
        assert.match(await say(socket, 'PING'), /^\+PONG/)
        socket.destroy()
      }
    }
  })

  it('TLS on one kind of server: the address map leads from where sentinels know each other to where clients go', async () => {
    await using topology = await LocalTopology.start({ tls: { data: true }, replicas: 0 })
    const [asked, peer] = topology.sentinelNodes
    const peers = await asked!.command('SENTINEL', 'SENTINELS', 'shard-0')
    assert.ok(Array.isArray(peers))
    const told = peers.map((one) => (Array.isArray(one) ? Number(one[one.indexOf('port') + 1]) : 0))
    assert.ok(told.includes(peer!.peerPort) && peer!.peerPort !== peer!.port)
    assert.deepEqual(topology.addressMap[`127.0.0.1:${peer!.peerPort}`], peer!.address)
  })
})

describe('topology: addresses', () => {
  it('runs and fails over on IPv6 alone', () => failsOver({ host: '::1' }))

  it('announces a host name where one is given', async () => {
    await using topology = await LocalTopology.start({ hostname: 'localhost' })
    const name = topology.masters[0]!
    const [master, replica] = topology.shard(name).nodes
    const sentinel = topology.sentinelNodes[0]!
    const told = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    assert.deepEqual(told, ['localhost', String(master!.port)])
    const replicas = await sentinel.command('SENTINEL', 'REPLICAS', name)
    assert.ok(Array.isArray(replicas) && Array.isArray(replicas[0]))
    assert.equal(replicas[0][1], `localhost:${replica!.port}`)
  })
})

describe('topology: proxies', () => {
  it('clients go through the proxies, the address map leads them there, and faults are seen by them alone', async () => {
    await using topology = await LocalTopology.start({ proxy: { data: true, sentinels: true } })
    const master = await topology.currentMaster('shard-0')
    const proxy = await topology.proxy(master)
    assert.deepEqual(topology.addressMap[formatAddress(master.address)], proxy.address)
    assert.equal(Object.keys(topology.addressMap).length, 5)
    assert.ok(topology.sentinels.every((seed, i) => seed.port !== topology.sentinelNodes[i]!.port))
    assert.equal(topology.node(proxy.address), master)

    const socket = connectTcp(proxy.address)
    assert.match(await say(socket, 'PING'), /^\+PONG/)
    await proxy.blackhole()
    let heard = false
    socket.once('data', () => {
      heard = true
    })
    socket.write('PING\r\n')
    assert.equal(await master.command('PING'), 'PONG')
    await topology.waitUntilSettled()
    assert.equal(heard, false)
    const answer = once(socket, 'data')
    await proxy.pass()
    assert.equal(String((await answer)[0]), '+PONG\r\n')
    const closed = once(socket, 'close')
    proxy.drop()
    await closed
  })

  it('a node gets a proxy later, and just one', async () => {
    await using topology = await LocalTopology.start({ replicas: 0, sentinels: 0 })
    assert.deepEqual(topology.addressMap, {})
    const node = topology.nodes[0]!
    const [one, two] = await Promise.all([topology.proxy(node), topology.proxy(node)])
    assert.equal(one, two)
    await node.restart()
    const socket = connectTcp(one.address)
    assert.match(await say(socket, 'PING'), /^\+PONG/)
    const reset = once(socket, 'close')
    await node.kill()
    await reset
  })

  it('a false switch is heard by the subscribers of one sentinel, and no server changes', async () => {
    await using topology = await LocalTopology.start({ replicas: 0, proxy: { sentinels: true } })
    const sockets = topology.sentinels.slice(0, 2).map((address) => connectTcp(address))
    const subscribe = '*2\r\n$10\r\nPSUBSCRIBE\r\n$14\r\n+switch-master\r\n'
    for (const socket of sockets) {
      socket.write(subscribe)
      await once(socket, 'data')
    }
    const message = once(sockets[0]!, 'data')
    sockets[1]!.once('data', () => assert.fail('the other sentinel said it too'))
    const from = topology.nodes[0]!.address
    assert.equal(topology.publishFalseSwitch(0, 'shard-0', from, { host: '127.0.0.1', port: 1 }), 1)
    const text = `shard-0 127.0.0.1 ${from.port} 127.0.0.1 1`
    assert.ok(String((await message)[0]).endsWith(`$14\r\n+switch-master\r\n$${text.length}\r\n${text}\r\n`))
    await topology.waitUntilSettled()
    assert.equal((await topology.currentMaster('shard-0')).port, from.port)
    for (const socket of sockets) socket.removeAllListeners('data').destroy()
    assert.throws(() => topology.publishFalseSwitch(7, 'shard-0', from, from), /needs a proxy/)
  })
})

describe('topology: start and end', () => {
  it('close leaves no process, no folder and no listener, waits included, and may be called twice', async () => {
    const listeners = () => ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name))
    const before = listeners()
    const topology = await LocalTopology.start()
    const pids = topology.nodes.map((node) => node.pid!)
    const waiting = assert.rejects(topology.waitForSwitch('shard-0'), code('CLOSED'))
    await topology.freezeMaster('shard-0')
    await Promise.all([topology.close(), topology.close()])
    await waiting
    assert.deepEqual(pids.filter(runs), [])
    assert.equal(existsSync(topology.folder), false)
    assert.deepEqual(listeners(), before)
    await assert.rejects(topology.nodes[0]!.restart(), code('CLOSED'))
    await assert.rejects(topology.proxy(topology.nodes[0]!), code('CLOSED'))
  })

  it('several start side by side on ports of their own', async () => {
    const many = await Promise.all(Array.from({ length: 4 }, () => LocalTopology.start({ sentinels: 1 })))
    const ports = many.flatMap((topology) => topology.nodes.map((node) => node.port))
    assert.equal(new Set(ports).size, 4 * 3)
    await Promise.all(many.map((topology) => topology.close()))
  })

  it('a line that Redis does not know fails the start with its log', async () => {
    await assert.rejects(LocalTopology.start({ dataConfig: { nonsense: 'yes' } }), (error: unknown) => {
      assert.ok(code('START_FAILED')(error))
      assert.match((error as Error).message, /nonsense yes/)
      return true
    })
  })

  it('a start that is aborted leaves nothing and rejects with the reason', async () => {
    const reason = new Error('changed my mind')
    const abort = new AbortController()
    const starting = LocalTopology.start({ shards: 3, signal: abort.signal })
    setTimeout(() => abort.abort(reason), 60)
    await assert.rejects(starting, reason)
  })

  for (const [what, mode, signal] of [
    ['SIGINT', 'idle', 'SIGINT'],
    ['SIGTERM', 'idle', 'SIGTERM'],
    ['SIGKILL', 'idle', 'SIGKILL'],
    ['an uncaught exception', 'throw', undefined],
    ['its natural end, topology not closed', 'leave', undefined],
  ] as const) {
    it(`the host process ends by ${what}: no server and no folder stays`, async () => {
      const script = fileURLToPath(new URL('../support/topology-host.ts', import.meta.url))
      const host = spawn(process.execPath, ['--import', 'tsx', script, mode], { stdio: ['ignore', 'pipe', 'ignore'] })
      const ended = once(host, 'exit')
      const [line] = await once(createInterface(host.stdout), 'line')
      const { pids, folder } = JSON.parse(String(line)) as { pids: number[]; folder: string }
      assert.equal(pids.length, 2)
      if (signal) host.kill(signal)
      const [exitCode, exitSignal] = await ended
      if (signal) assert.equal(exitSignal, signal)
      else assert.equal(exitCode, mode === 'throw' ? 1 : 0)
      // The servers are nobody's children now, so that there is no event to wait for.
      const deadline = performance.now() + 3_000
      while ((pids.some(runs) || existsSync(folder)) && performance.now() < deadline) await pause(10)
      assert.deepEqual(pids.filter(runs), [])
      assert.equal(existsSync(folder), false)
    })
  }
})
