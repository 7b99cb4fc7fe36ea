import type { Address } from '../address.js'
import type { ShardPort } from '../shard/call.js'
import type { Operation, Operations } from './operations.js'

export type TracedShard = ShardPort & { readonly address: Address | undefined }

type Send = ShardPort['send']
type Recover = ShardPort['recover']
type SendBatch = ShardPort['sendBatch']
type Acquire = ShardPort['acquire']

/**
 * Puts measured methods before a shard's own; the shards of other pools, and this one once it is undone, keep theirs. A
 * command that failed is not over: `recover` decides, so its operation goes on there, found by the very array of its words.
 */
export function traceShard(shard: TracedShard, operations: Operations): () => void {
  const own = { send: shard.send, recover: shard.recover, sendBatch: shard.sendBatch, acquire: shard.acquire }
  const failed = new WeakMap<object, Operation>()

  const send: Send = async (args, profile, options) => {
    const operation = operations.start(profile.name, shard.name, shard.address)
    try {
      const reply = await own.send.call(shard, args, profile, options)
      operation.succeeded()
      return reply
    } catch (error) {
      failed.set(args, operation)
      throw error
    }
  }
  const recover: Recover = async (error, args, profile, options, since) => {
    const operation = failed.get(args)
    failed.delete(args)
    return ended(operation, own.recover.call(shard, error, args, profile, options, since))
  }
  const sendBatch: SendBatch = (commands, profile, options, since) => {
    const operation = operations.start(profile.name, shard.name, shard.address, commands.length)
    return ended(operation, own.sendBatch.call(shard, commands, profile, options, since))
  }
  const acquire: Acquire = async (options) => {
    const since = performance.now()
    try {
      const lease = await own.acquire.call(shard, options)
      operations.acquired(shard.name, since)
      return lease
    } catch (error) {
      operations.acquired(shard.name, since, error)
      throw error
    }
  }
  const methods = { send, recover, sendBatch, acquire }
  Object.assign(shard, methods)
  return () => {
    // The class's own are on the prototype.
    for (const name of Object.keys(methods)) delete (shard as unknown as Record<string, unknown>)[name]
  }
}

async function ended<T>(operation: Operation | undefined, reply: Promise<T>): Promise<T> {
  try {
    const value = await reply
    operation?.succeeded()
    return value
  } catch (error) {
    operation?.failed(error)
    throw error
  }
}
