import type { Pool } from 'generic-pool'
import genericPool from 'generic-pool'
import type { Connection } from '../redis-client.js'

/** One exclusive connection and what it must be known by. `connection` is undefined only in a pool that is closing. */
export interface Slot {
  readonly connection: Connection | undefined
  readonly generation: number
  /** `performance.now()` of its opening, its last borrow or its last return. */
  usedAt: number
}

export type SlotPool = Pool<Slot> & {
  /** One run of its eviction, for which it has no public name; its own timers, one a shard, would each wake an idle process. */
  _evict(): void
}

export interface SlotPoolSettings {
  readonly min: number
  readonly max: number
  readonly acquireTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxWaiting: number
}

export interface SlotFactory {
  /** Never rejects: generic-pool would call it again at once, without end. */
  create(): Promise<Slot>
  destroy(slot: Slot): Promise<void>
  /** The test at each borrow. Never rejects: inside generic-pool that would be unhandled. */
  validate(slot: Slot): Promise<boolean>
  /** False for what is dead or outdated: swept out, however short a time it was idle. */
  isGood(slot: Slot): boolean
}

/** generic-pool exports its class and queues, but its types do not say how they are put together. */
interface GenericPoolParts {
  readonly Pool: new (
    evictor: new () => {
      evict(config: EvictionConfig, resource: { obj: Slot; lastIdleTime: number }, idle: number): boolean
    },
    deque: unknown,
    priorityQueue: unknown,
    factory: Omit<SlotFactory, 'isGood'>,
    options: Record<string, unknown>,
  ) => Pool<Slot>
  readonly Deque: unknown
  readonly PriorityQueue: unknown
}

interface EvictionConfig {
  readonly idleTimeoutMillis: number
  readonly min: number
}

/** A generic-pool that is told of generations, and evicts when it is told to. `start()` opens the first `min`. */
export function createSlotPool(settings: SlotPoolSettings, { isGood, ...factory }: SlotFactory): SlotPool {
  const { Pool: GenericPool, Deque, PriorityQueue } = genericPool as unknown as GenericPoolParts
  class GenerationEvictor {
    evict(config: EvictionConfig, resource: { obj: Slot; lastIdleTime: number }, idle: number): boolean {
      if (!isGood(resource.obj)) return true
      return idle > config.min && Date.now() - resource.lastIdleTime > config.idleTimeoutMillis
    }
  }
  return new GenericPool(GenerationEvictor, Deque, PriorityQueue, factory, {
    min: settings.min,
    max: settings.max,
    autostart: false,
    testOnBorrow: true,
    acquireTimeoutMillis: settings.acquireTimeoutMs,
    maxWaitingClients: settings.maxWaiting,
    idleTimeoutMillis: settings.idleTimeoutMs,
    evictionRunIntervalMillis: 0,
    numTestsPerEvictionRun: settings.max,
  }) as SlotPool
}
