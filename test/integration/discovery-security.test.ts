import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { diagnose, inspectTopology } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import { LocalTopology } from '../../src/testing/index.js'
import { errorsByCode, Load } from '../support/load.js'
import { keyOf, poolClients, poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

/** What a pool lets anyone see: every event with its causes, its figures, and itself. */
class Seen {
  readonly #texts: string[] = []
  readonly #pool: TestPool

  constructor(pool: TestPool) {
    this.#pool = pool
    for (const event of ['error', 'shard-down', 'reconnect', 'failover', 'sentinel', 'sentinel-state'] as const) {
      pool.on(event, (news: unknown) => this.add(news))
    }
  }

  add(what: unknown): void {
    this.#texts.push(inspect(what, { depth: 10, showHidden: true, getters: true }))
    if (what instanceof Error) this.#texts.push(String(what.stack), JSON.stringify(what))
  }

  get text(): string {
    const pool = this.#pool
    return [...this.#texts, inspect(pool, { depth: 20, showHidden: true }), JSON.stringify(pool.stats())].join('\n')
  }
}

/** As a vault hands them out: `stale` counts the answers that still hold the last password. */
class Vault {
  password: string
  stale = 0
  asked = 0
  readonly #username: string
  #last: string

  constructor(username: string, password: string) {
    this.#username = username
    this.password = password
    this.#last = password
  }

  rotate(password: string): void {
    this.#last = this.password
    this.password = password
  }

  get provider(): NonNullable<NonNullable<PoolOptions['client']>['credentialsProvider']> {
    return {
      type: 'async-credentials-provider',
      credentials: async () => {
        this.asked++
        const password = this.stale > 0 ? this.#last : this.password
        this.stale = Math.max(0, this.stale - 1)
        return { username: this.#username, password }
      },
    }
  }
}

/** The users of the Sentinel documentation: a client on a sentinel, and a sentinel on a data node. */
const CLIENT_ON_SENTINEL =
  'client on >sentinel-secret-1 -@all +auth +client|getname +client|id +client|setname +command +hello +ping +role ' +
  '+sentinel|get-master-addr-by-name +sentinel|master +sentinel|myid +sentinel|replicas +sentinel|sentinels'
const SENTINEL_ON_DATA =
  'sentinel-user on >sentinel-login-secret allchannels +multi +slaveof +ping +exec +subscribe +config|rewrite +role ' +
  '+publish +info +client|setname +client|kill +script|kill'
/** What an app needs on a data node to read and write, and no more. */
const APP_ON_DATA = 'app on >data-secret-1 ~* -@all +hello +auth +ping +role +client|setname +get +set'

describe('the least rights that the Sentinel documentation gives', () => {
  const secret = /secret/
  const POLL_MS = 400
  const data = new Vault('app', 'data-secret-1')
  const sentinel = new Vault('client', 'sentinel-secret-1')
  let topology: LocalTopology
  let pool: TestPool
  let seen: Seen
  let key: string
  const states: string[] = []
  const refusals: string[] = []
  before(async () => {
    topology = await LocalTopology.start({
      shards: ['cache-a', 'cache-b'],
      acl: [APP_ON_DATA, SENTINEL_ON_DATA],
      sentinelLogin: { username: 'sentinel-user', password: 'sentinel-login-secret' },
      sentinelAcl: [CLIENT_ON_SENTINEL],
    })
    pool = poolOn(topology, {
      client: { credentialsProvider: data.provider },
      sentinelClient: { credentialsProvider: sentinel.provider },
      pollIntervalMs: POLL_MS,
    })
    seen = new Seen(pool)
    pool.on('sentinel-state', ({ state }) => states.push(state))
    pool.on('error', ({ message }) => refusals.push(message))
    await pool.connect()
    key = keyOf(pool, 'cache-a')
  })
  after(async () => {
    pool?.destroy()
    await topology?.close()
  })

  it('are enough to connect, write and read; what is denied is said once per sentinel, and the state is degraded', async () => {
    assert.equal(await pool.set(key, 'v'), 'OK')
    assert.equal(await pool.get(key), 'v')
    await until('every sentinel to have refused', () => refusals.length === 3)
    assert.ok(refusals.every((message) => message.includes('NOPERM')))
    assert.deepEqual(states, ['degraded'])
    assert.ok(pool.stats().sentinels.every((one) => !one.subscribed))
  })

  it('a failover that nobody may announce to us is noticed by the periodic check, with reads only and no error', async () => {
    const moved = nextEvent(pool, 'failover')
    let movedAt = Number.POSITIVE_INFINITY
    void moved.then(() => {
      movedAt = performance.now()
    })
    const load = new Load(pool, ['cache-b'])
    const { to } = await topology.failover('cache-a', { until: 'agreed' })
    const agreedAt = performance.now()
    assert.equal((await moved).to.port, to.port)
    assert.ok(movedAt - agreedAt < POLL_MS + 1_000, `${movedAt - agreedAt} ms after the sentinels had agreed`)
    assert.equal(await pool.set(key, 'w'), 'OK')
    assert.equal(await to.command('GET', key), 'w')
    assert.deepEqual(errorsByCode(await load.stop()), {})
  })

  it('a rotated password heals as soon as the provider knows it, on data nodes and on sentinels', async () => {
    data.rotate('data-secret-2')
    sentinel.rotate('sentinel-secret-2')
    data.stale = 3
    sentinel.stale = 3
    for (const node of topology.nodes) {
      const [user, password] = node.kind === 'data' ? ['app', data.password] : ['client', sentinel.password]
      await node.command('ACL', 'SETUSER', user, 'resetpass', `>${password}`)
      await node.command('CLIENT', 'KILL', 'USER', user)
    }
    const [asked, askedSentinel] = [data.asked, sentinel.asked]
    const results = await Promise.all([pool.get(key), pool.set(keyOf(pool, 'cache-b'), 'v')])
    assert.deepEqual(results, ['w', 'OK'])
    assert.ok(data.asked > asked && sentinel.asked > askedSentinel, 'each connection asks the provider')
    const master = await topology.currentMaster('cache-a')
    await until('connections of the new login', async () => (await poolClients(master)).length >= 1)
    assert.equal(data.stale, 0)
  })

  it('nothing that the pool says or shows holds a password, also when all of them are wrong', async () => {
    sentinel.rotate('sentinel-secret-wrong')
    const lost = poolOn(topology, {
      client: { username: 'app', password: 'data-secret-wrong' },
      sentinelClient: { credentialsProvider: sentinel.provider },
      connectDeadlineMs: 400,
    })
    const seenToo = new Seen(lost)
    await assert.rejects(lost.connect(), (error: Error & { answers?: { error?: string }[] }) => {
      seen.add(error)
      assert.equal(error.name, 'SentinelsUnreachableError')
      assert.equal(error.answers?.length, 3)
      assert.ok(error.answers?.every((answer) => /^WRONGPASS/.test(answer.error ?? '')))
      return true
    })
    sentinel.rotate('sentinel-secret-2')
    const wrongData = poolOn(topology, {
      client: { username: 'app', password: 'data-secret-wrong' },
      sentinelClient: { username: 'client', password: 'sentinel-secret-2' },
      connectDeadlineMs: 400,
    })
    await assert.rejects(wrongData.connect(), (error: Error & { why?: string }) => {
      seen.add(error)
      assert.equal(error.why, 'WRONGPASS')
      return true
    })
    for (const [dataPassword, sentinelPassword] of [
      ['data-secret-2', 'sentinel-secret-2'],
      ['data-secret-wrong', 'sentinel-secret-2'],
      ['data-secret-2', 'sentinel-secret-wrong'],
    ] as const) {
      const picture = await inspectTopology({
        masters: topology.masters,
        sentinels: topology.sentinels,
        client: { username: 'app', password: dataPassword },
        sentinelClient: { username: 'client', password: sentinelPassword },
      })
      seen.add(picture)
      seen.add(diagnose(picture))
    }
    // And what a dying master makes the pool say.
    const down = nextEvent(pool, 'shard-down')
    const load = new Load(pool, ['cache-b'], 'dying')
    await topology.killMaster('cache-b')
    seen.add(await down)
    await until('the next master', () => pool.stats().shards[1]!.state === 'ready')
    for (const { error } of await load.stop()) if (error !== undefined) seen.add(error)
    assert.match(seen.text, /WRONGPASS/)
    for (const text of [seen.text, seenToo.text, inspect(wrongData, { depth: 20, showHidden: true })]) {
      assert.doesNotMatch(text, secret)
    }
  })
})
