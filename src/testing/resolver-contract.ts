import type { Address } from '../address.js'
import { isPort, sameAddress } from '../address.js'
import { bounded } from '../async/deadline.js'
import type { PoolOptions } from '../options.js'

type Resolver = NonNullable<PoolOptions['resolver']>

/** What a resolver is tried with. */
export interface ResolverContractSubject {
  /** A new resolver, over the same registry each time. */
  make(): Resolver | Promise<Resolver>
  /** A master name that it knows, and where that master is when the contract begins. */
  readonly known: { readonly name: string; readonly address: Address }
  /** A master name that it does not know. @default 'no-such-master' */
  readonly unknown?: string
  /** Moves the known master and resolves with its new address. Without it, and without `watch`, changes are not tried. */
  move?(): Address | Promise<Address>
  /** Bound on each answer, in ms: the pool gives a resolver `connectTimeoutMs + 2 * sentinelTimeoutMs` at the longest. @default 1000 */
  readonly timeoutMs?: number
}

/** One promise that a resolver must keep: `for (const { name, run } of resolverContract(subject)) test(name, run)`. */
export interface ResolverContractCase {
  readonly name: string
  /** Rejects with what was broken. */
  run(): Promise<void>
}

/**
 * What the pool relies on in a user's `resolver`, as cases for any test runner, to be run in their order. They ask only the
 * resolver, never Redis: that an address is a master is for the pool to prove.
 */
export function resolverContract(subject: ResolverContractSubject): readonly ResolverContractCase[] {
  const { known, unknown = 'no-such-master', timeoutMs = 1_000 } = subject
  let expected = known.address
  const within = <T>(what: string, promise: Promise<T>): Promise<T> =>
    bounded(promise, { timeoutMs, onTimeout: () => new BrokenContract(`${what}: nothing within ${timeoutMs} ms`) })
  const ask = async (resolver: Resolver, name: string, signal = new AbortController().signal) => {
    const answer = await within(
      `resolve('${name}')`,
      attempt(() => resolver.resolve(name, { signal })),
    )
    return answer === null || answer === undefined || 'address' in answer ? answer : { address: answer }
  }
  const expectKnown = async (resolver: Resolver) => {
    const answer = await ask(resolver, known.name)
    check(answer?.address !== undefined, `resolve('${known.name}') gave no address`)
    const { host, port } = answer.address
    check(typeof host === 'string' && host !== '' && isPort(port), `${host}:${port} is no address`)
    check(sameAddress(answer.address, expected), `${host}:${port} is not ${expected.host}:${expected.port}`)
    check(answer.epoch === undefined || Number.isFinite(answer.epoch), 'an epoch is a number')
    return answer.epoch
  }
  const withResolver = (use: (resolver: Resolver) => Promise<void>) => async () => {
    const resolver = await subject.make()
    try {
      await use(resolver)
    } finally {
      await within(
        'close()',
        attempt(() => resolver.close?.()),
      )
    }
  }
  const cases: ResolverContractCase[] = [
    {
      name: 'a known name has an address, each time it is asked for',
      run: withResolver(async (resolver) => {
        await expectKnown(resolver)
        await expectKnown(resolver)
      }),
    },
    {
      name: 'many questions at once are all answered alike',
      run: withResolver(async (resolver) => {
        await Promise.all(Array.from({ length: 20 }, () => expectKnown(resolver)))
      }),
    },
    {
      name: 'an unknown name is null or undefined, not an error and not an address',
      run: withResolver(async (resolver) => {
        check(!(await ask(resolver, unknown)), `resolve('${unknown}') gave an address`)
      }),
    },
    {
      name: 'a question that nobody waits for any more ends, and the next one is answered',
      run: withResolver(async (resolver) => {
        const abort = new AbortController()
        const asked = ask(resolver, known.name, abort.signal)
        abort.abort(new Error('nobody waits'))
        await asked.catch((error: unknown) => {
          if (error instanceof BrokenContract) throw error
        })
        await expectKnown(resolver)
      }),
    },
    {
      name: 'close may be called twice, and ends what was watched',
      run: async () => {
        const resolver = await subject.make()
        await within(
          'watch()',
          attempt(() => resolver.watch?.([known.name], () => {})),
        )
        await within(
          'close()',
          attempt(() => resolver.close?.()),
        )
        await within(
          'close() again',
          attempt(() => resolver.close?.()),
        )
      },
    },
  ]
  if (subject.move === undefined) return cases
  const move = subject.move.bind(subject)
  return [
    ...cases,
    {
      name: 'a master that moved is named at its new address, with a higher epoch where there are epochs',
      run: withResolver(async (resolver) => {
        const before = await expectKnown(resolver)
        expected = await move()
        const after = await expectKnown(resolver)
        check(before === undefined || (after !== undefined && after > before), `epoch ${after} after ${before}`)
      }),
    },
    {
      name: 'where there is a watch it tells of a move, by exactly that name, until it is stopped, twice if need be',
      run: withResolver(async (resolver) => {
        if (resolver.watch === undefined) return
        const told: string[] = []
        let news = signalled()
        const stop = await within(
          'watch()',
          attempt(() =>
            resolver.watch?.([known.name], (name) => {
              told.push(name)
              news.resolve()
            }),
          ),
        )
        // Hints before anything moved are allowed, and prove nothing.
        news = signalled()
        expected = await move()
        await within('news of the move', news.promise)
        check(
          told.every((name) => name === known.name),
          `told of ${told.join(', ')}`,
        )
        await expectKnown(resolver)
        if (typeof stop !== 'function') return
        stop()
        stop()
        const count = told.length
        expected = await move()
        await expectKnown(resolver)
        check(told.length === count, 'told of a move after it was stopped')
      }),
    },
  ]
}

class BrokenContract extends Error {
  override readonly name = 'BrokenContract'
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new BrokenContract(what)
}

/** What a resolver throws at once counts as a rejection, as it does in the pool. */
async function attempt<T>(call: () => T | Promise<T>): Promise<T> {
  return await call()
}

function signalled(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve: () => resolve() }
}
