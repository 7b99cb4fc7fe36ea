import type { Address } from '../address.js'
import { PLACEMENT_KEY } from '../placement-guard.js'
import { askRole, readFields, readText } from '../sentinel/index.js'
import { type AskSettings, converse, type Questions } from './ask.js'
import { infoFields, infoNumber } from './info.js'
import type { NodeReport } from './picture.js'

export interface NodeQuestion extends AskSettings {
  readonly announced: Address
  readonly namedMasterBy: readonly Address[]
  readonly mapAddress: (address: Address) => Address
}

/** Everything of one data node that its ACL lets us see. `lagBytes` needs the master, and is filled in by who knows both. */
export async function inspectNode(question: NodeQuestion): Promise<NodeReport> {
  const { address, announced, namedMasterBy } = question
  const base = { ...NOTHING, address, announced, namedMasterBy }
  const result = await converse(question, (questions) => talk(questions, question))
  return 'value' in result ? { ...base, ...result.value } : { ...base, error: result.error }
}

const NOTHING = {
  error: undefined,
  latencyMs: undefined,
  version: undefined,
  denied: [],
  role: undefined,
  notYet: undefined,
  follows: undefined,
  link: undefined,
  offset: undefined,
  silentSeconds: undefined,
  lagBytes: undefined,
  connectedReplicas: undefined,
  minReplicasToWrite: undefined,
  minReplicasMaxLagSeconds: undefined,
  priority: undefined,
  clockSkewMs: undefined,
  keys: undefined,
  opsPerSecond: undefined,
  claim: undefined,
} as const

async function talk(questions: Questions, { mapAddress, timeoutMs, signal }: NodeQuestion) {
  const latencyMs = await questions.latency()
  // First what the pool itself cannot do without, as the pool asks it.
  const [role] = await questions.ask([{ words: ['ROLE'], label: 'ROLE' }])
  const [info] = await questions.ask([{ words: ['INFO'], label: 'INFO' }])
  const facts = infoFields(info)
  const answer =
    role === undefined && info === undefined ? undefined : await askRole(questions.connection, timeoutMs, signal)
  const before = Date.now()
  const [time, config, claim, keys] = await questions.ask([
    { words: ['TIME'], label: 'TIME' },
    { words: ['CONFIG', 'GET', 'min-replicas-*'], label: 'CONFIG GET' },
    { words: ['GET', PLACEMENT_KEY], label: `GET ${PLACEMENT_KEY}` },
    { words: ['DBSIZE'], label: 'DBSIZE' },
  ])
  const halfWay = (before + Date.now()) / 2
  const settings = readFields(config)
  const setting = (name: string) => (settings?.has(name) ? Number(settings.get(name)) : undefined)
  const slave = answer?.role === 'slave' ? answer : undefined
  return {
    latencyMs,
    version: facts.get('redis_version'),
    denied: questions.denied,
    role: answer === undefined || answer.role === 'not-yet' ? undefined : answer.role,
    notYet: answer?.role === 'not-yet' ? answer.reply : undefined,
    follows: slave?.master && mapAddress(slave.master),
    link: slave?.link,
    offset: slave ? infoNumber(facts, 'slave_repl_offset') : infoNumber(facts, 'master_repl_offset'),
    silentSeconds: infoNumber(facts, 'master_last_io_seconds_ago'),
    connectedReplicas: slave ? undefined : infoNumber(facts, 'connected_slaves'),
    minReplicasToWrite: setting('min-replicas-to-write'),
    minReplicasMaxLagSeconds: setting('min-replicas-max-lag'),
    priority: infoNumber(facts, 'slave_priority'),
    clockSkewMs: Array.isArray(time) ? clockOf(time) - halfWay : undefined,
    keys: typeof keys === 'number' ? keys : undefined,
    opsPerSecond: infoNumber(facts, 'instantaneous_ops_per_sec'),
    claim: claim === null ? null : readText(claim),
  }
}

function clockOf(time: readonly unknown[]): number {
  return Number(readText(time[0])) * 1_000 + Number(readText(time[1])) / 1_000
}
