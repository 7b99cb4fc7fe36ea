import {
  type Attributes,
  type Histogram,
  type Meter,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api'
import type { Address } from '../address.js'

export interface OperationsSettings {
  readonly meter: Meter
  /** Undefined where no spans are wanted. */
  readonly tracer: Tracer | undefined
  readonly database: number
  readonly poolName: string
}

/** Seconds; the bounds that the conventions advise. */
const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]

/** One command, from where it was handed to the shard to where it ended, with all waiting and repeating in between. */
export interface Operation {
  succeeded(): void
  failed(error: unknown): void
}

/** Spans and durations, named as https://opentelemetry.io/docs/specs/semconv/database/ has it. */
export class Operations {
  readonly #duration: Histogram
  readonly #waitTime: Histogram
  readonly #tracer: Tracer | undefined
  readonly #namespace: string
  readonly #poolName: string

  constructor({ meter, tracer, database, poolName }: OperationsSettings) {
    this.#poolName = poolName
    this.#tracer = tracer
    this.#namespace = String(database)
    this.#duration = meter.createHistogram('db.client.operation.duration', {
      unit: 's',
      description: 'Duration of database client operations.',
      advice: { explicitBucketBoundaries: BOUNDS },
    })
    this.#waitTime = meter.createHistogram('db.client.connection.wait_time', {
      unit: 's',
      description: 'The time it took to obtain an open connection from the pool.',
      advice: { explicitBucketBoundaries: BOUNDS },
    })
  }

  /** @param batchSize of a transaction or pipeline */
  start(name: string, shard: string, address: Address | undefined, batchSize?: number): Operation {
    const since = performance.now()
    const attributes: Attributes = {
      'db.system.name': 'redis',
      'db.namespace': this.#namespace,
      'db.operation.name': name,
      'sharded_sentinel_pool.shard': shard,
      ...(address === undefined ? {} : { 'server.address': address.host, 'server.port': address.port }),
    }
    const batch = batchSize === undefined ? {} : { 'db.operation.batch.size': batchSize }
    const span = this.#tracer?.startSpan(name, { kind: SpanKind.CLIENT, attributes: { ...attributes, ...batch } })
    const end = (more: Attributes) => {
      this.#duration.record((performance.now() - since) / 1_000, { ...attributes, ...more })
      span?.end()
    }
    return {
      succeeded: () => end({}),
      failed: (error) => {
        const failure = describeError(error)
        if (span !== undefined) markFailed(span, error, failure)
        end(failure)
      },
    }
  }

  /** How long somebody waited for an exclusive connection. */
  acquired(shard: string, sinceMs: number, error?: unknown): void {
    const failure = error === undefined ? {} : describeError(error)
    this.#waitTime.record((performance.now() - sinceMs) / 1_000, {
      'db.client.connection.pool.name': `${this.#poolName}:${shard}`,
      ...failure,
    })
  }
}

/** Our own code, or the first word of the server's reply. Never the message, which is not for counting by. */
function describeError(error: unknown): Attributes {
  const { code, message, name } = (error ?? {}) as { code?: unknown; message?: unknown; name?: unknown }
  if (typeof code === 'string') return { 'error.type': code }
  const word = /^[A-Z]{2,}\b/.exec(String(message ?? ''))?.[0]
  if (word !== undefined) return { 'error.type': word, 'db.response.status_code': word }
  return { 'error.type': typeof name === 'string' ? name : '_OTHER' }
}

function markFailed(span: Span, error: unknown, failure: Attributes): void {
  const { outcome } = (error ?? {}) as { outcome?: unknown }
  span.setAttributes(failure)
  if (typeof outcome === 'string') span.setAttribute('sharded_sentinel_pool.outcome', outcome)
  span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) })
}
