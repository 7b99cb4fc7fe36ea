import { createRing, formatAddress, inspectTopology, type PoolOptions, type Ring } from '../../index.js'
import { type Command, type Context, EXIT } from '../command.js'
import { linesOf } from '../lines.js'
import { readSettings } from '../settings.js'
import { deciding } from '../tag.js'
import { table } from '../text.js'
import { UsageError } from '../usage-error.js'

interface Place {
  readonly key: string
  readonly shard: string
  /** Of the shard's master; absent with --offline and where it is not known. */
  readonly address?: string
  /** The part of the key that decided, where it is not the whole key. */
  readonly tag?: string
}

export const locate: Command = {
  name: 'locate',
  summary: 'Which shard a key lives on, and why',
  synopsis: '[<key> …] [--offline] [--json]',
  description: `Tells for every key its shard, the address of that shard's master, and the hash tag that decided where the
    whole key did not. Keys come from the command line or, one per line, from standard input (without words, or "-").

    With --offline, or without sentinels, no server is asked: the ring alone knows. Any preset goes: --preset jedis.`,
  examples: [
    '-c pool.json user:1 "{user:1}:cart"',
    '--masters a,b,c --preset jedis user:1',
    '-c pool.json --offline < keys.txt',
  ],
  flags: [
    { name: 'offline', help: 'Ask no server; the answer has no address' },
    { name: 'json', help: 'One JSON object per line' },
    { name: 'timeout', value: '<ms>', help: 'Bound on each server. Default 2000' },
  ],
  takesSettings: true,
  words: [0, Number.POSITIVE_INFINITY],
  async run(context) {
    const { flags, io } = context
    const options = await readSettings(flags, io.env)
    const ring = ringOf(options)
    const addresses = await addressesOf(options, context)
    const place = (key: string): Place => {
      const shard = ring.shards[ring.locate(key)]!.name
      const address = addresses.get(shard)
      const tag = deciding(key, options.ring)
      return { key, shard, ...(address === undefined ? {} : { address }), ...(tag === undefined ? {} : { tag }) }
    }
    if (context.words.length === 0 || context.words[0] === '-') await fromInput(context, place)
    else if (flags.has('json')) for (const key of context.words) io.out(`${JSON.stringify(place(key))}\n`)
    else io.out(`${table(context.words.map((key) => cells(place(key))))}\n`)
    return EXIT.ok
  },
}

/** The ring of a configuration. @throws InvalidOptionsError */
export function ringOf({ masters, ring }: PoolOptions): Ring {
  const shards = masters.map((master) =>
    typeof master === 'string'
      ? master
      : {
          name: master.name,
          ...(master.weight === undefined ? {} : { weight: master.weight }),
          ...(master.label === undefined ? {} : { label: master.label }),
        },
  )
  return createRing({ shards, ring: ring ?? { preset: 'murmur3' } })
}

async function addressesOf(options: PoolOptions, { flags, signal }: Context): Promise<ReadonlyMap<string, string>> {
  const addresses = new Map<string, string>()
  if (flags.has('offline') || (options.sentinels === undefined && options.resolver === undefined)) return addresses
  const timeoutMs = flags.number('timeout', 2_000, 10, 600_000)
  const { shards } = await inspectTopology(options, { timeoutMs, signal })
  for (const { name, master } of shards) if (master !== undefined) addresses.set(name, formatAddress(master.address))
  return addresses
}

/** Answers as the keys come, however many there are. */
async function fromInput({ io, flags, signal }: Context, place: (key: string) => Place): Promise<void> {
  if (io.stdin.isTTY) throw new UsageError('give at least one key, or pipe keys in, one per line')
  for await (const key of linesOf(io.stdin, signal)) {
    if (key === '') continue
    io.out(flags.has('json') ? `${JSON.stringify(place(key))}\n` : `${cells(place(key)).join('\t')}\n`)
  }
}

function cells({ key, shard, address, tag }: Place): string[] {
  return [key, shard, ...(address === undefined ? [] : [address]), ...(tag === undefined ? [] : [`by {${tag}}`])]
}
