import { sleep } from '../../../src/async/sleep.js'
import { RoutedClient } from '../../../src/commands/routed-client.js'
import type { RoutingContext } from '../../../src/commands/routing-context.js'
import { type ClientOptions, ConnectionFactory, type RedisArgument } from '../../../src/redis-client.js'
import type {
  AcquireOptions,
  CallOptions,
  CommandProfile,
  LeasePort,
  LeaseState,
  ShardPort,
} from '../../../src/shard/call.js'

type Words = readonly RedisArgument[]

/** One thing a stub shard was asked to send. */
export interface Sent {
  readonly words: Words
  readonly profile: CommandProfile
  readonly options: CallOptions | undefined
}

/** A shard without a server: it keeps what it was asked for, and answers by `answer`. */
export class StubShard implements ShardPort {
  readonly closed: AbortSignal = new AbortController().signal
  readonly name: string
  readonly index: number
  readonly clock = { now: 0 }
  settled = 0
  readonly sent: Sent[] = []
  readonly batches: (readonly Words[])[] = []
  readonly leases: StubLease[] = []
  /** What each wait for a lease was bounded by. */
  readonly acquired: (AcquireOptions | undefined)[] = []
  /** Time it takes to have a lease. */
  acquireMs = 0
  readonly recovered: { readonly error: unknown; readonly words: Words }[] = []
  /** What the server says; an error that is thrown is a rejected `send`. */
  answer: (words: Words) => unknown = () => 'OK'
  answerBatch: (commands: readonly Words[]) => readonly unknown[] = (commands) => commands.map(() => 'OK')
  /** What the shard makes of a failed call. */
  onRecover: (error: unknown, words: Words) => unknown = (error) => {
    throw error
  }

  constructor(index: number) {
    this.index = index
    this.name = `shard-${index}`
  }

  async send(words: Words, profile: CommandProfile, options: CallOptions | undefined): Promise<unknown> {
    this.sent.push({ words: [...words], profile, options })
    return this.answer(words)
  }

  async recover(error: unknown, words: Words): Promise<unknown> {
    this.recovered.push({ error, words: [...words] })
    return this.onRecover(error, words)
  }

  async sendBatch(commands: readonly Words[]): Promise<readonly unknown[]> {
    this.batches.push(commands.map((words) => [...words]))
    return this.answerBatch(commands)
  }

  async acquire(options?: AcquireOptions): Promise<LeasePort> {
    this.acquired.push(options)
    options?.signal?.throwIfAborted()
    if (this.acquireMs > 0) await sleep(this.acquireMs, options?.signal)
    const lease = new StubLease(this)
    this.leases.push(lease)
    return lease
  }

  /** All the words sent, as text. */
  get texts(): string[] {
    return this.sent.map(({ words }) => words.join(' '))
  }
}

export class StubLease implements LeasePort {
  readonly shard: string
  state: LeaseState = 'active'
  readonly sent: Sent[] = []
  readonly #owner: StubShard

  constructor(owner: StubShard) {
    this.#owner = owner
    this.shard = owner.name
  }

  async send(words: Words, options?: CallOptions): Promise<unknown> {
    this.sent.push({ words: [...words], profile: { name: '', readOnly: false }, options })
    return this.#owner.answer(words)
  }

  async release(): Promise<void> {
    this.state = 'released'
  }

  discard(): void {
    this.state = 'discarded'
  }
}

class StubClient extends RoutedClient<
  Record<never, never>,
  Record<never, never>,
  Record<never, never>,
  3,
  Record<never, never>
> {
  constructor(context: RoutingContext) {
    super(context)
  }
  end(): void {
    this.endSubscriptions()
  }
}

export interface StubPool {
  readonly client: StubClient
  readonly shards: readonly StubShard[]
}

/** A key's shard is the digit it ends with, so that a test says where its keys are. Text in braces decides as ever. */
export const lastDigitRing = {
  locate(key: string | Uint8Array): number {
    const text = Buffer.from(key as string).toString()
    const tag = /\{([^}]+)\}/.exec(text)?.[1] ?? text
    return (Number(/(\d)$/.exec(tag)?.[1] ?? 0) || 0) % 3
  },
}

export function stubPool(context: Partial<RoutingContext> = {}, options: ClientOptions = {}): StubPool {
  const shards = [0, 1, 2].map((index) => new StubShard(index))
  const factory = new ConnectionFactory(options)
  const client = new StubClient({
    ring: lastDigitRing,
    shards,
    template: factory.template(),
    keyPrefix: factory.keyPrefix,
    typeMapping: factory.typeMapping,
    waitUntilOpen: () => undefined,
    ...context,
  })
  return { client, shards }
}
