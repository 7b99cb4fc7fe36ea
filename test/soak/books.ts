import type { LocalTopology } from '../../src/testing/index.js'
import { keyOf, type TestPool, valuesOn } from '../support/pool-on-topology.js'

interface WriteRecord {
  readonly key: string
  readonly startedAt: number
  readonly endedAt: number
  readonly acknowledged: boolean
}

/** A time in which a shard moved: from the first harm to the word of the pool that it stands on the new master. */
interface Move {
  readonly from: number
  readonly to: number
}

export interface Balance {
  readonly writes: number
  readonly acknowledged: number
  /** Gone with a master that died, or that was replaced: Redis replicates after it has answered. */
  readonly lostWithOldMaster: number
  /** Acknowledged by a master that still stands, and not there: never. */
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
}

/** Callers of a shard. Each has one call at a time. */
const WORKERS = 3
/** Before the first harm a write may be on its way to the replica for so long, in ms; a busy machine is slow. */
const REPLICATION_MS = 1_000

/** Callers of one shard: each write is an INCR of a key of its own, so that 2 is a write that ran twice and nothing a lost one. */
export class Books {
  readonly #shard: string
  readonly #writes: WriteRecord[] = []
  readonly #moves: Move[] = []
  readonly codes: Record<string, number> = {}
  readonly overdueMs: number[] = []
  reads = 0
  wrongReads = 0
  #stopped = false
  #harmedAt: number | undefined
  #working: number
  readonly #workers: Promise<void>

  constructor(pool: TestPool, shard: string, boundMs: number) {
    this.#shard = shard
    const tag = keyOf(pool, shard, 'soak')
    this.#working = WORKERS
    this.#workers = Promise.all(
      Array.from({ length: WORKERS }, async (_, worker) => {
        await this.#work(pool, `${tag}:${worker}`, boundMs)
        this.#working--
      }),
    ).then(() => {})
  }

  harmed(): void {
    this.#harmedAt ??= performance.now()
  }

  moved(): void {
    const to = performance.now()
    this.#moves.push({ from: this.#harmedAt ?? to, to })
    this.#harmedAt = undefined
  }

  /** Lets the calls end. Resolves with the number of those that have not, so long after nothing new is called. */
  async stop(withinMs: number): Promise<number> {
    this.#stopped = true
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs)
    })
    await Promise.race([this.#workers, late])
    clearTimeout(timer)
    return this.#working
  }

  async balance(topology: LocalTopology): Promise<Balance> {
    const master = await topology.currentMaster(this.#shard)
    const found = await valuesOn(
      master,
      this.#writes.map(({ key }) => key),
    )
    const lost: string[] = []
    let lostWithOldMaster = 0
    for (const [i, write] of this.#writes.entries()) {
      if (!write.acknowledged || found[i] !== null) continue
      const excused = this.#moves.some(({ from, to }) => write.endedAt > from - REPLICATION_MS && write.startedAt < to)
      if (excused) lostWithOldMaster++
      else lost.push(write.key)
    }
    const doubled = this.#writes.filter((_, i) => Number(found[i] ?? 0) > 1).map(({ key }) => key)
    const acknowledged = this.#writes.filter((write) => write.acknowledged).length
    return { writes: this.#writes.length, acknowledged, lostWithOldMaster, lost, doubled }
  }

  async #work(pool: TestPool, tag: string, boundMs: number): Promise<void> {
    for (let i = 0; !this.#stopped; i++) {
      const key = `${tag}:${i}`
      const startedAt = performance.now()
      const acknowledged = await this.#try(() => pool.incr(key), 1)
      this.#writes.push({ key, startedAt, endedAt: performance.now(), acknowledged })
      const readAt = performance.now()
      await this.#try(() => pool.get(`${tag}:none`), null)
      this.reads++
      for (const tookMs of [readAt - startedAt, performance.now() - readAt]) {
        if (tookMs > boundMs) this.overdueMs.push(Math.round(tookMs))
      }
      await new Promise((resolve) => setTimeout(resolve, 3))
    }
  }

  /** True when it was answered. */
  async #try(send: () => Promise<unknown>, expected: unknown): Promise<boolean> {
    try {
      if ((await send()) !== expected) this.wrongReads++
      return true
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      if (code === 'POOL_CLOSED') this.#stopped = true
      const word = code ?? message.split(' ', 1)[0]!
      this.codes[word] = (this.codes[word] ?? 0) + 1
      return false
    }
  }
}
