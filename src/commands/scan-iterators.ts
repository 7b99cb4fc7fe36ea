import type { RedisArgument } from '../redis-client.js'
import type { CallOptions } from '../shard/call.js'
import { carry } from './carry.js'
import type { Command } from './command.js'
import type { Router } from './router.js'
import { splitCursor } from './scan-cursor.js'

/** One page of a cursor command, transformed as node-redis does. */
interface Page {
  readonly cursor: RedisArgument
}

/**
 * Pages over all shards, one shard after the other; each key that is there all the time comes at least once. A shard whose
 * master changed under the walk is begun anew, since the old master's cursors mean nothing to the new one: its keys may
 * come twice. Leaving the loop early leaves nothing behind.
 */
export async function* scanShards(
  router: Router,
  command: Command,
  args: { readonly cursor?: RedisArgument | undefined } | undefined,
  options: CallOptions | undefined,
): AsyncGenerator<Page> {
  const gate = router.context.waitUntilOpen(options)
  if (gate !== undefined) await gate
  const start = splitCursor(args?.cursor ?? '0', router.shards.length)
  let first: RedisArgument = start.cursor
  for (let index = start.shard; index < router.shards.length; index++) {
    yield* pages(router, index, first, (cursor) => page(router, command, index, [cursor, args], options))
    first = '0'
  }
}

/** Pages of one key's cursor command: HSCAN, SSCAN, ZSCAN. */
export async function* scanKey(
  router: Router,
  command: Command,
  key: RedisArgument,
  args: { readonly cursor?: RedisArgument | undefined } | undefined,
  options: CallOptions | undefined,
): AsyncGenerator<Page> {
  const gate = router.context.waitUntilOpen(options)
  if (gate !== undefined) await gate
  await learn(command, [key, '0', args])
  const parser = command.parse([key, '0', args], router.keyPrefix)
  const { index } = router.map.shardOf(parser.firstKey)
  yield* pages(router, index, args?.cursor ?? '0', (cursor) =>
    page(router, command, index, [key, cursor, args], options),
  )
}

async function* pages(
  router: Router,
  index: number,
  first: RedisArgument,
  read: (cursor: RedisArgument) => Promise<Page>,
): AsyncGenerator<Page> {
  let cursor = first
  let generation = router.generationOf(index)
  for (;;) {
    const reply = await read(cursor)
    const stale = router.generationOf(index) !== generation
    yield reply
    cursor = reply.cursor
    const ended = String(cursor) === '0'
    if (stale || (!ended && router.generationOf(index) !== generation)) {
      generation = router.generationOf(index)
      cursor = '0'
    } else if (ended) return
  }
}

async function page(
  router: Router,
  command: Command,
  index: number,
  args: readonly unknown[],
  options: CallOptions | undefined,
): Promise<Page> {
  await learn(command, args)
  const parser = command.parse(args, router.keyPrefix)
  const reply = await carry(router.shards[index]!, parser.redisArgs, command.profile, options)
  return command.transform!(reply, parser.preserve, router.typeMappingOf(options)) as Page
}

async function learn(command: Command, args: readonly unknown[]): Promise<void> {
  if (command.definition === undefined) await command.learn(args)
}
