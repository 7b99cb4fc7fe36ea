import type { TestContext } from 'node:test'
import type { Address } from '../../src/address.js'
import type { SentinelEvent, SentinelStateEvent } from '../../src/events.js'
import { ConnectionFactory } from '../../src/redis-client.js'
import {
  SentinelList,
  SentinelResolver,
  type SentinelResolverSettings,
  SentinelWatcher,
  type SentinelWatcherSettings,
} from '../../src/sentinel/index.js'

/** A resolver with test-sized bounds, closed with the test. */
export function makeResolver(
  t: TestContext,
  seeds: readonly Address[],
  settings: Partial<SentinelResolverSettings> = {},
): SentinelResolver {
  const resolver = new SentinelResolver({
    list: settings.list ?? new SentinelList(seeds),
    sentinelFactory: new ConnectionFactory(),
    dataFactory: new ConnectionFactory(),
    sentinelTimeoutMs: 300,
    connectTimeoutMs: 1000,
    mapAddress: (address) => address,
    connectionName: (kind) => `test:${kind}`,
    ...settings,
  })
  t.after(() => resolver.close())
  return resolver
}

/** Everything a watcher has told, in order, and a way to wait for one of it. */
export class Heard {
  readonly switches: { name: string; from: Address; to: Address; sentinel: Address }[] = []
  readonly progress: { name: string; phase: string; candidate: Address | undefined }[] = []
  readonly rechecks: string[] = []
  readonly events: SentinelEvent[] = []
  readonly states: SentinelStateEvent[] = []
  readonly errors: Error[] = []
  #waiting: (() => void)[] = []

  readonly callbacks: SentinelWatcherSettings['callbacks'] = {
    onSwitch: (name, from, to, sentinel) => this.#note(this.switches, { name, from, to, sentinel }),
    onProgress: (name, phase, candidate) => this.#note(this.progress, { name, phase, candidate }),
    onRecheck: (reason) => this.#note(this.rechecks, reason),
    onEvent: (event) => this.#note(this.events, event),
    onState: (state) => this.#note(this.states, state),
    onError: (error) => this.#note(this.errors, error),
  }

  /** Resolves when `condition` holds, asked after each piece of news; rejects after `timeoutMs`. */
  until(condition: () => boolean, timeoutMs = 5000): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not heard within ${timeoutMs} ms`)), timeoutMs)
      const check = () => {
        if (!condition()) return this.#waiting.push(check)
        clearTimeout(timer)
        return resolve()
      }
      check()
    })
  }

  #note<T>(list: T[], item: T): void {
    list.push(item)
    const waiting = this.#waiting
    this.#waiting = []
    for (const check of waiting) check()
  }
}

/** A watcher that is started, and closed with the test. */
export function makeWatcher(
  t: TestContext,
  seeds: readonly Address[],
  masterNames: readonly string[],
  settings: Partial<SentinelWatcherSettings> = {},
): { readonly watcher: SentinelWatcher; readonly heard: Heard; readonly list: SentinelList } {
  const heard = new Heard()
  const list = settings.list ?? new SentinelList(seeds)
  const watcher = new SentinelWatcher({
    list,
    sentinelFactory: new ConnectionFactory(),
    masterNames,
    heartbeatMs: 300,
    mapAddress: (address) => address,
    connectionName: () => 'test:watch',
    callbacks: heard.callbacks,
    ...settings,
  })
  t.after(() => watcher.close())
  watcher.start()
  return { watcher, heard, list }
}

/** A request of one attempt, 2 s at most. */
export function attempt(timeoutMs = 2000): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  return { signal: new AbortController().signal, timeoutMs }
}
