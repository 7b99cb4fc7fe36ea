import { setTimeout as sleep } from 'node:timers/promises'
import { inspectTopology, type TopologyPicture } from '../../index.js'
import { type Command, type Context, EXIT, type ExitCode } from '../command.js'
import { readSettings } from '../settings.js'
import { statusText, wellServed } from '../status-text.js'

/** Clears the terminal from the top left corner on, so that the next picture stands where the last one did. */
const HOME = '\x1b[H\x1b[J'

export const status: Command = {
  name: 'status',
  summary: 'Shards, masters, replicas and their lag, and what each sentinel believes',
  synopsis: '[--watch] [--json]',
  description: `One line per shard and one per sentinel; what disagrees is marked with "!". Asks, and changes nothing.

    Exit code 0 when every shard has a master that all sentinels name and that says so itself, 1 when not, 4 when nobody
    could be asked.`,
  examples: ['--masters cache-a,cache-b --sentinels 10.0.0.1:26379', '-c pool.json --watch', '-c pool.json --json'],
  flags: [
    { name: 'watch', short: 'w', help: 'Again and again until Ctrl-C; on a terminal in place' },
    { name: 'interval', value: '<ms>', help: 'Between two looks of --watch. Default 1000' },
    { name: 'json', help: 'The picture as JSON; with --watch one line each' },
    { name: 'timeout', value: '<ms>', help: 'Bound on each server. Default 2000' },
  ],
  takesSettings: true,
  words: [0, 0],
  async run(context) {
    const { flags, io, signal } = context
    const options = await readSettings(flags, io.env)
    const timeoutMs = flags.number('timeout', 2_000, 10, 600_000)
    const intervalMs = flags.number('interval', 1_000, 100, 3_600_000)
    for (;;) {
      const picture = await inspectTopology(options, { timeoutMs, signal })
      show(picture, context)
      if (!flags.has('watch')) return exitCode(picture)
      await sleep(intervalMs, undefined, { signal })
    }
  },
}

function show(picture: TopologyPicture, { flags, io, paint }: Context): void {
  const watching = flags.has('watch')
  if (flags.has('json')) {
    io.out(`${JSON.stringify(picture, undefined, watching ? undefined : 2)}\n`)
    return
  }
  const time = watching ? `${new Date(picture.takenAt).toLocaleTimeString()}  ` : ''
  io.out(`${watching && io.outIsTerminal ? HOME : ''}${time}${statusText(picture, paint)}\n`)
}

function exitCode(picture: TopologyPicture): ExitCode {
  const { sentinels, shards } = picture
  const mute = [...sentinels, ...shards.flatMap(({ master }) => master ?? [])].every(({ error }) => error !== undefined)
  if (mute) return EXIT.failed
  return shards.every((shard) => wellServed(shard, picture)) ? EXIT.ok : EXIT.trouble
}
