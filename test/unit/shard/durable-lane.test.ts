import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DurableLane } from '../../../src/shard/durable-lane.js'
import { Lease } from '../../../src/shard/lease.js'
import { StubConnection, turn } from '../../support/stub-connection.js'
import { SET } from '../../support/stub-shard.js'

/** A lane over one stub connection; `open` says whether the shard takes writes. */
function lane(settings: { maxWaiting?: number } = {}) {
  const stub = new StubConnection()
  const state = { open: true, leases: 0, waits: [] as string[] }
  let letIn = () => {}
  const durable = new DurableLane({
    shard: 'cache-a',
    maxWaiting: settings.maxWaiting ?? 100,
    maxInFlight: 1_000,
    link: {
      usable: () => (state.open ? ({} as never) : undefined),
      connectionFor: async () => {
        if (!state.open) await new Promise<void>((resolve) => (letIn = resolve))
        return {} as never
      },
    },
    acquire: async () => {
      state.leases++
      return new Lease({
        shard: 'cache-a',
        connection: stub.asConnection,
        commandTimeoutMs: 1_000,
        stack: undefined,
        giveBack: async () => {},
        onMoved: () => {},
      })
    },
  })
  stub.reply = (args) => {
    if (args[0] === 'WAIT') state.waits.push(String(args[2]))
    return args[0] === 'WAIT' ? 1 : 'OK'
  }
  const request = (leftMs: number, timeoutMs: number) => ({
    profile: SET,
    ack: { replicas: 1, timeoutMs },
    typeMapping: undefined,
    deadline: performance.now() + leftMs,
    onSent: () => true,
    overdue: () => new Error('no time left'),
  })
  const write = (leftMs: number, timeoutMs = 200) => durable.write(['SET', 'k', 'v'], request(leftMs, timeoutMs))
  return {
    stub,
    state,
    write,
    openUp() {
      state.open = true
      letIn()
    },
  }
}

describe('durable lane', () => {
  it('sends what was written in one turn together, with one WAIT behind it', async () => {
    const { stub, write } = lane()
    assert.deepEqual(await Promise.all([write(1_000), write(1_000), write(1_000)]), ['OK', 'OK', 'OK'])
    assert.deepEqual(stub.sent, ['SET', 'SET', 'SET', 'WAIT'])
  })

  it('sends nothing while the shard takes no writes, and all of it afterwards', async () => {
    const { stub, state, write, openUp } = lane()
    state.open = false
    const held = write(1_000)
    await turn()
    assert.deepEqual(stub.sent, [])
    openUp()
    assert.equal(await held, 'OK')
  })

  it('refuses at once above its bound', async () => {
    const { state, write, openUp } = lane({ maxWaiting: 3 })
    state.open = false
    const first = write(1_000)
    await turn()
    const waiting = [write(1_000), write(1_000), write(1_000)]
    await assert.rejects(write(1_000), { code: 'SHARD_UNAVAILABLE', reason: 'too-many-waiting' })
    openUp()
    await Promise.all([first, ...waiting])
  })

  it('does not let somebody in a hurry cut the wait of the others short', async () => {
    const { state, write } = lane()
    await Promise.all([write(1_000), write(50), write(1_000)])
    const waits = state.waits.map(Number)
    assert.equal(waits.filter((ms) => ms === 200).length, waits.length - 1)
    assert.ok(Math.min(...waits) <= 50)
  })

  it('tells those whose time is over before they went out, or who would have an answer too late, and sends none of them', async () => {
    const { stub, state, write, openUp } = lane()
    state.open = false
    void write(1_000).catch(() => {})
    await turn()
    const late = [5, 35].map((leftMs) => assert.rejects(write(leftMs), /no time left/))
    await new Promise((resolve) => setTimeout(resolve, 20))
    openUp()
    await Promise.all(late)
    await turn()
    assert.deepEqual(stub.sent, ['SET', 'WAIT'])
  })
})
