import type { ShardedSentinelPool } from '../library.js'

export interface Session {
  readonly user: string
  readonly touches: number
}

/**
 * What an app would write: sessions that expire by themselves, each a hash. Nothing in here knows of shards or failovers;
 * what must happen together for one session is one MULTI, which goes to the shard of its key.
 */
export class SessionStore {
  readonly #pool: ShardedSentinelPool
  readonly #ttlSeconds: number

  constructor(pool: ShardedSentinelPool, ttlSeconds = 1_800) {
    this.#pool = pool
    this.#ttlSeconds = ttlSeconds
  }

  /** The key of a session. */
  static key(id: string): string {
    return `session:${id}`
  }

  async create(id: string, user: string): Promise<void> {
    const key = SessionStore.key(id)
    await this.#pool.multi().hSet(key, { user, touches: 0 }).expire(key, this.#ttlSeconds).exec()
  }

  async read(id: string): Promise<Session | undefined> {
    const { user, touches } = await this.#pool.hGetAll(SessionStore.key(id))
    return user === undefined ? undefined : { user, touches: Number(touches) }
  }

  /** Counts one more visit and lets the session live on. Resolves with the number of visits. */
  async touch(id: string): Promise<number> {
    const key = SessionStore.key(id)
    const [touches] = await this.#pool.multi().hIncrBy(key, 'touches', 1).expire(key, this.#ttlSeconds).execTyped()
    return touches
  }

  /** Ends the session now. */
  async expire(id: string): Promise<void> {
    await this.#pool.expire(SessionStore.key(id), 0)
  }
}
