import { createReadStream } from 'node:fs'
import { PLACEMENT_KEY, type PoolOptions, planRing, type Ring, type RingPlan } from '../../index.js'
import { type Command, type Context, EXIT } from '../command.js'
import { linesOf } from '../lines.js'
import { Progress } from '../progress.js'
import { type Sample, sampleKeys } from '../sample.js'
import { readConfigFile } from '../settings.js'
import { percent, plural, table } from '../text.js'
import { UsageError } from '../usage-error.js'
import { ringOf } from './locate.js'

const DEFAULT_SAMPLE = 10_000

export const plan: Command = {
  name: 'plan',
  summary: 'Which keys move when the shards, their weights or the ring change',
  synopsis: '--from <file> --to <file> [--sample [--keys-max <n>] | --keys <file>] [--json]',
  description: `Compares the rings of two configurations before anything is done: how much of the hash space each shard
    gives and gets. Asks no server, unless --sample counts real keys of the present one (by SCAN, on the masters).

    With --sample, keys that lie on another shard than --from says are reported too: --from is then not the ring that the
    data was placed by. Exit code 1 in that case.`,
  examples: [
    '--from now.json --to next.json',
    '--from now.json --to next.json --sample',
    '--from now.json --to next.mjs --keys keys.txt',
  ],
  flags: [
    { name: 'from', value: '<file>', help: 'The configuration now: .json, or .js/.mjs/.cjs' },
    { name: 'to', value: '<file>', help: 'The configuration to come' },
    { name: 'sample', help: `Count by real keys of the servers of --from, ${DEFAULT_SAMPLE} at most` },
    { name: 'keys-max', value: '<n>', help: `Keys to sample. Default ${DEFAULT_SAMPLE}` },
    { name: 'keys', value: '<file>', help: 'Count by the keys of a file, one per line; "-" for standard input' },
    { name: 'json', help: 'The plan as JSON' },
  ],
  takesSettings: false,
  words: [0, 0],
  async run(context) {
    const { flags, io } = context
    const [before, after] = await Promise.all([readSide(context, 'from'), readSide(context, 'to')])
    const [from, to] = [ringOf(before), ringOf(after)]
    const sample = await keysToCount(context, before, from)
    const result = planRing(from, to, sample === undefined ? {} : { keys: sample.keys })
    const strays = sample?.strays ?? []
    if (flags.has('json')) io.out(`${JSON.stringify({ ...result, strays: strays.length }, undefined, 2)}\n`)
    else io.out(planText(result, sample))
    return strays.length > 0 ? EXIT.trouble : EXIT.ok
  },
}

async function readSide({ flags }: Context, name: 'from' | 'to'): Promise<PoolOptions> {
  const file = flags.text(name)
  if (file === undefined) throw new UsageError(`--${name} <file> is missing`)
  const options = await readConfigFile(file)
  if (options.masters === undefined) throw new UsageError(`${file} has no 'masters'`)
  return options
}

async function keysToCount(
  { flags, io, signal }: Context,
  options: PoolOptions,
  ring: Ring,
): Promise<Sample | undefined> {
  const file = flags.text('keys')
  if (file !== undefined) {
    if (flags.has('sample')) throw new UsageError('give --sample or --keys, not both')
    const keys: string[] = []
    const input = file === '-' ? io.stdin : createReadStream(file)
    try {
      for await (const key of linesOf(input, signal)) if (key !== '') keys.push(key)
    } catch (error) {
      throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
    }
    return { keys, strays: [] }
  }
  if (!flags.has('sample')) return undefined
  const progress = new Progress(io, 'keys sampled:')
  const count = flags.number('keys-max', DEFAULT_SAMPLE, 1, 10_000_000)
  const locate = (key: string) => ring.shards[ring.locate(key)]!.name
  try {
    const sample = await sampleKeys(options, count, locate, (done, total) => progress.at(done, total), signal)
    if (sample.keys.length === 0) throw new UsageError('there are no keys on these servers to sample')
    // The claim lies on every shard, wherever the ring would put it.
    return { keys: sample.keys, strays: sample.strays.filter(({ key }) => key !== PLACEMENT_KEY) }
  } finally {
    progress.end()
  }
}

const BASIS = {
  'hash-space': 'exact, over the hash space',
  keys: 'counted',
  expected: 'expected, of even and independent hashes',
} as const

function planText(plan: RingPlan, sample: Sample | undefined): string {
  const { basis, moved, moves, shards, keys } = plan
  const of = keys === undefined ? '' : ` of ${plural(keys, 'key')}`
  const lines = [`${percent(moved)}${of} would move (${BASIS[basis]}).`, '']
  lines.push(
    table([
      ['SHARD', 'NOW', 'THEN', 'CHANGE'],
      ...shards.map(({ name, before, after }) => [name, percent(before), percent(after), signed(after - before)]),
    ]),
  )
  if (moves.length > 0) {
    const rows = moves.map(({ from, to, share, keys: n }) => [
      `${from} -> ${to}`,
      percent(share),
      ...(n === undefined ? [] : [plural(n, 'key')]),
    ])
    lines.push('', table([['MOVE', 'SHARE'], ...rows]))
  }
  const strays = sample?.strays ?? []
  if (strays.length > 0) {
    const example = strays[0]!
    lines.push(
      '',
      `Warning: ${plural(strays.length, 'key')} of the sample ${strays.length === 1 ? 'is' : 'are'} not where --from places ${strays.length === 1 ? 'it' : 'them'}, such as '${example.key}': it is on ${example.on} and would be looked for on ${example.belongs}. --from is not the ring that this data was placed by.`,
    )
  }
  return `${lines.join('\n')}\n`
}

function signed(part: number): string {
  return Math.abs(part) < 0.0005 ? '=' : `${part > 0 ? '+' : ''}${percent(part)}`
}
