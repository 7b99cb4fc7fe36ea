import type { RedisArgument } from '../redis-client.js'
import type { CallOptions } from '../shard/call.js'
import type { Command } from './command.js'
import type { TransformReply } from './definitions.js'
import { type CommandSet, commandSetOf, defineCommands } from './methods.js'
import { execPipeline } from './pipeline.js'
import { QueuedCommand } from './queued-command.js'
import { rawCall } from './raw-command.js'
import type { Router } from './router.js'
import { execTransaction } from './transaction.js'

/** The private state of a queue, under one symbol: every other name may be a command's. */
const QUEUE: unique symbol = Symbol('queue')

interface Queue {
  readonly router: Router
  readonly options: CallOptions | undefined
  /** What `exec()` does: a transaction, or for `pipeline()` a pipeline. */
  readonly kind: 'transaction' | 'pipeline'
  /** In the order of the calls. A promise stands where a server must be asked what an unknown raw command is. */
  readonly commands: (QueuedCommand | Promise<QueuedCommand>)[]
}

/**
 * What `pool.multi()` and `pool.pipeline()` return: node-redis's chain of commands, run by `exec()`, `execAsPipeline()` or
 * their typed spellings. The methods are put on from node-redis's definitions; bad arguments throw at the call.
 */
export class CommandQueue {
  /** @internal */
  readonly [QUEUE]: Queue

  constructor(queue: Queue) {
    this[QUEUE] = queue
  }

  /** Runs what was queued as one transaction on one shard. @throws CrossShardError before anything is sent */
  async exec(execAsPipeline = false): Promise<unknown[]> {
    const { kind, router } = this[QUEUE]
    if (execAsPipeline || kind === 'pipeline') return this.execAsPipeline()
    const { commands, options } = await ready(this[QUEUE])
    return commands.length === 0 ? [] : execTransaction(router, commands, options)
  }

  EXEC(execAsPipeline?: boolean): Promise<unknown[]> {
    return this.exec(execAsPipeline)
  }

  execTyped(execAsPipeline?: boolean): Promise<unknown[]> {
    return this.exec(execAsPipeline)
  }

  /** Runs what was queued shard by shard, one write each: not atomic, replies in the order of the calls. */
  async execAsPipeline(): Promise<unknown[]> {
    const { router } = this[QUEUE]
    const { commands, options } = await ready(this[QUEUE])
    return commands.length === 0 ? [] : execPipeline(router, commands, options)
  }

  execAsPipelineTyped(): Promise<unknown[]> {
    return this.execAsPipeline()
  }

  /** Queues a raw command, routed by its own key specifications. */
  sendCommand(words: readonly RedisArgument[]): this {
    return this.addCommand(words.slice())
  }

  addCommand(words: readonly RedisArgument[], transform?: TransformReply): this {
    const { router, commands } = this[QUEUE]
    const preserve = (words as { preserve?: unknown }).preserve
    const call = rawCall(router, words, undefined)
    if (call instanceof Promise) {
      const queued = call.then((known) => QueuedCommand.of(known, transform, preserve))
      // `exec` reports it; a queue that is thrown away must not end the process.
      queued.catch(() => {})
      commands.push(queued)
    } else {
      commands.push(QueuedCommand.of(call, transform, preserve))
    }
    return this
  }
}

/** Waits for the pool to be open and for what had to be asked; no wait at all when there is nothing to wait for. */
async function ready(
  queue: Queue,
): Promise<{ readonly commands: QueuedCommand[]; readonly options: CallOptions | undefined }> {
  const gate = queue.router.context.waitUntilOpen(queue.options)
  const options = gate === undefined ? queue.options : await gate
  const asked = queue.commands.some((queued) => queued instanceof Promise)
  return { commands: asked ? await Promise.all(queue.commands) : (queue.commands as QueuedCommand[]), options }
}

/** Queues one typed command; the chain goes on. */
function enqueue(command: Command) {
  return function (this: CommandQueue, a?: unknown, b?: unknown, c?: unknown, ...rest: unknown[]): CommandQueue {
    const { router, commands } = this[QUEUE]
    // biome-ignore lint/complexity/noArguments: the length alone costs nothing, an array of all arguments would
    const count = arguments.length
    if (command.definition === undefined) {
      const args = [a, b, c, ...rest].slice(0, count)
      const complaint = command.learn(args)
      if (complaint !== undefined) {
        complaint.catch(() => {})
        throw badArguments(router, command, args)
      }
    }
    const { keyPrefix } = router
    const parser =
      count <= 3 ? command.parseFew(count, a, b, c, keyPrefix) : command.parse([a, b, c, ...rest], keyPrefix)
    commands.push(QueuedCommand.typed(command, parser))
    return this
  }
}

/** The complaint itself comes as a rejected promise, too late for a chain; node-redis's own chain throws it at once. */
function badArguments(router: Router, command: Command, args: readonly unknown[]): unknown {
  const { name, namespace } = command.site
  try {
    const chain = (router.context.template as { multi(): Record<string, unknown> }).multi()
    const owner = (namespace === undefined ? chain : chain[namespace]) as Record<string, (...a: unknown[]) => unknown>
    owner[name]!(...args)
  } catch (error) {
    return error
  }
  return new TypeError(`bad arguments for ${name}`)
}

/** One class per configuration, so that a new queue costs no more than any object. */
const classes = new WeakMap<CommandSet, new (queue: Queue) => CommandQueue>()

/** A new, empty queue for the pool's configuration. */
export function createQueue(
  router: Router,
  options: CallOptions | undefined,
  kind: 'transaction' | 'pipeline',
): CommandQueue {
  const set = commandSetOf(router.context.template)
  const Configured = classes.get(set) ?? configure(set)
  return new Configured({ router, options, kind, commands: [] })
}

function configure(set: CommandSet): new (queue: Queue) => CommandQueue {
  const Configured = class extends CommandQueue {}
  defineCommands<CommandQueue>(set, Configured.prototype, enqueue)
  classes.set(set, Configured)
  return Configured
}
