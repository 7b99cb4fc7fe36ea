import { type KeySpec, readKeySpec } from './key-specs.js'
import { METADATA_ROWS, type MetadataRow } from './metadata.generated.js'

/** What Redis publishes about sending a command to a partitioned store, and what an unknown command has. */
export type RequestPolicy =
  | 'default-keyed'
  | 'default-keyless'
  | 'multi_shard'
  | 'all_shards'
  | 'all_nodes'
  | 'special'
  | 'unknown'

/** How Redis says the replies of several shards become one. */
export type ResponsePolicy =
  | 'default-keyed'
  | 'default-keyless'
  | 'all_succeeded'
  | 'one_succeeded'
  | 'agg_sum'
  | 'agg_min'
  | 'agg_max'
  | 'agg_logical_and'
  | 'agg_logical_or'
  | 'special'
  | 'unknown'

/** One command as the table knows it. */
export interface CommandFacts {
  /** Upper case, with the subcommand: `GET`, `OBJECT ENCODING`, `JSON.GET`. */
  readonly name: string
  readonly request: RequestPolicy
  readonly response: ResponsePolicy
  readonly flags: ReadonlySet<string>
  /** Where the keys are; an undefined entry is one that only a server can tell, undefined at all: nobody told. */
  readonly keySpecs: readonly (KeySpec | undefined)[] | undefined
}

function readRow(row: MetadataRow): CommandFacts {
  const [name, request, response, flags, specs] = row
  return {
    name,
    request: request as RequestPolicy,
    response: response as ResponsePolicy,
    flags: new Set(flags === '' ? [] : flags.split(' ')),
    keySpecs: specs === null ? undefined : specs === '' ? [] : specs.split(' ').map(readKeySpec),
  }
}

// A row is read when it is first asked for: a process uses a few dozen of six hundred commands.
const rows = new Map<string, MetadataRow>(METADATA_ROWS.map((row) => [row[0], row]))
const facts = new Map<string, CommandFacts>()

function factsOf(name: string): CommandFacts | undefined {
  const known = facts.get(name)
  if (known !== undefined) return known
  const row = rows.get(name)
  if (row === undefined) return undefined
  const read = readRow(row)
  facts.set(name, read)
  return read
}

/** The table's entry of a command given as on the wire, in any case. A container with an unknown subcommand is unknown. */
export function lookUpCommand(command: string, subcommand?: string): CommandFacts | undefined {
  const outer = factsOf(command.toUpperCase())
  if (outer === undefined || !outer.flags.has('container')) return outer
  return subcommand === undefined ? outer : factsOf(`${outer.name} ${subcommand.toUpperCase()}`)
}

/** True when the second word of this command is a subcommand and part of its name. */
export function isContainer(command: string): boolean {
  return factsOf(command.toUpperCase())?.flags.has('container') === true
}

/** Every name the table knows, sorted. */
export function commandNames(): readonly string[] {
  return [...rows.keys()]
}

/**
 * True when running the command twice changes nothing (DESIGN R10). `declared` is node-redis's own `IS_READ_ONLY`, which
 * scripts and functions need: the server cannot know what a script does. PUBLISH is declared a read as well, for a replica
 * takes it; but a message repeated is a message twice, so no publishing command counts.
 */
export function isRepeatable(entry: CommandFacts | undefined, declared?: boolean): boolean {
  if (entry === undefined) return declared === true
  const { flags } = entry
  if (flags.has('write') || entry.name.endsWith('PUBLISH')) return false
  if (flags.has('script_runner')) return declared ?? flags.has('readonly')
  return flags.has('readonly') || flags.has('declared_read')
}
