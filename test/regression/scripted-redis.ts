import type { TestContext } from 'node:test'
import type { Address } from '../../src/address.js'
import { ShardedSentinelPool } from '../../src/index.js'
import type { PoolOptions } from '../../src/options.js'
import { type FakeConnection, type FakeReply, FakeRespServer } from '../support/fake-resp-server.js'
import { FakeSentinel } from '../support/fake-sentinel.js'

const READONLY = "READONLY You can't write against a read only replica."
const WRITES = new Set(['SET', 'INCR'])

/** A Redis with transactions and scripts, that refuses them on a replica as this or that version does. */
export class ScriptedRedis {
  readonly server = new FakeRespServer((command, connection) => this.#answer(command, connection))
  /** What was executed, in order; what was only queued is not in it. */
  readonly executed: string[] = []
  role: 'master' | 'slave'
  /** Up to 6: EXEC runs what was queued although a write was refused, and a script's refusal is told as the script's error. */
  old = false
  /** Of a replica: its master. */
  follows: Address = { host: '127.0.0.1', port: 1 }
  /** What everything but PING and ROLE gets. */
  refusal: string | undefined
  /** The connection is cut in place of the answer to whatever names this key. */
  cutsAt: string | undefined
  /** The connection breaks after so many replies of a transaction. */
  breaksAfter: number | undefined
  readonly #queues = new Map<FakeConnection, { queued: string[][]; refused: boolean; replies: number }>()

  constructor(role: 'master' | 'slave') {
    this.role = role
  }

  #answer(command: string[], connection: FakeConnection): FakeReply | undefined {
    const [verb] = command as [string, ...string[]]
    if (verb === 'PING') return 'PONG'
    if (verb === 'ROLE') {
      const { host, port } = this.follows
      return this.role === 'master' ? ['master', 0, []] : ['slave', host, port, 'connected', 0]
    }
    if (this.refusal !== undefined) return new Error(this.refusal)
    if (this.cutsAt !== undefined && command[1] === this.cutsAt) {
      connection.destroy()
      return undefined
    }
    if (verb === 'MULTI') this.#queues.set(connection, { queued: [], refused: false, replies: 0 })
    const transaction = this.#queues.get(connection)
    if (transaction === undefined) return this.#execute(command)
    if (transaction.replies === this.breaksAfter) {
      setImmediate(() => connection.destroy())
      return undefined
    }
    transaction.replies++
    if (verb === 'MULTI') return 'OK'
    if (verb === 'EXEC') {
      this.#queues.delete(connection)
      const { refused, queued } = transaction
      if (refused && !this.old) return new Error('EXECABORT Transaction discarded because of previous errors.')
      return queued.map((words) => this.#execute(words))
    }
    if (WRITES.has(verb) && this.role === 'slave') {
      transaction.refused = true
      return new Error(READONLY)
    }
    transaction.queued.push(command)
    return 'QUEUED'
  }

  #execute(command: string[]): FakeReply {
    const [verb, key] = command as [string, string]
    if (this.role === 'slave' && WRITES.has(verb)) return new Error(READONLY)
    if (this.role === 'slave' && verb === 'EVAL') {
      const where = '@user_script:1: @user_script: 1:'
      return new Error(this.old ? `ERR Error running script (call to f_1e84a6): ${where} -${READONLY}` : READONLY)
    }
    this.executed.push(command.join(' '))
    if (verb === 'GET') return `value of ${key}`
    return verb === 'INCR' ? this.executed.length : 'OK'
  }
}

export interface ScriptedWorld {
  readonly master: ScriptedRedis
  readonly replica: ScriptedRedis
  readonly pool: ShardedSentinelPool
  /** The replica is the master now; the sentinel knows it, and nobody tells the pool. */
  promote(): void
}

export async function scriptedWorld(t: TestContext, options: Partial<PoolOptions> = {}): Promise<ScriptedWorld> {
  const [master, replica] = [new ScriptedRedis('master'), new ScriptedRedis('slave')]
  await Promise.all([master.server.listen(), replica.server.listen()])
  replica.follows = master.server.address
  const addresses = { address: master.server.address, replicas: [replica.server.address] }
  const sentinel = await FakeSentinel.listen({ 'cache-a': { ...addresses, epoch: 1 } })
  const pool = new ShardedSentinelPool({
    masters: ['cache-a'],
    sentinels: [sentinel.address],
    placementGuard: 'off',
    commandTimeoutMs: 2_000,
    pollIntervalMs: 60_000,
    pool: { min: 0 },
    ...options,
  } as PoolOptions)
  t.after(async () => {
    pool.destroy()
    await Promise.all([master.server, replica.server, sentinel].map((server) => server.close()))
  })
  await pool.connect()
  return {
    master,
    replica,
    pool,
    promote() {
      master.role = 'slave'
      replica.role = 'master'
      sentinel.masters.set('cache-a', { address: replica.server.address, epoch: 2, replicas: [master.server.address] })
    },
  }
}
