import type { Address } from '../address.js'
import { readAddress, readFields, readMasterAddress, readText } from '../sentinel/index.js'
import { type AskSettings, converse, type Questions } from './ask.js'
import { infoFields } from './info.js'
import type { MasterBelief, PeerReport, ReplicaBelief, SentinelReport } from './picture.js'

export interface SentinelQuestion extends AskSettings {
  readonly announced: Address
  readonly seed: boolean
  readonly masterNames: readonly string[]
  readonly mapAddress: (address: Address) => Address
}

const PER_MASTER = ['GET-MASTER-ADDR-BY-NAME', 'MASTER', 'SENTINELS', 'REPLICAS'] as const

/** One sentinel: who it is, how it is, and what it believes of every master. */
export async function inspectSentinel(question: SentinelQuestion): Promise<SentinelReport> {
  const { address, announced, seed } = question
  const base = { address, announced, seed }
  const result = await converse(question, (questions) => talk(questions, question))
  if ('value' in result) return { ...base, error: undefined, ...result.value }
  return {
    ...base,
    error: result.error,
    latencyMs: undefined,
    version: undefined,
    denied: [],
    runId: undefined,
    tilt: undefined,
    beliefs: [],
  }
}

async function talk(questions: Questions, { masterNames, mapAddress }: SentinelQuestion) {
  const latencyMs = await questions.latency()
  const [runId, info] = await questions.ask([
    { words: ['SENTINEL', 'MYID'], label: 'SENTINEL MYID' },
    { words: ['INFO'], label: 'INFO' },
  ])
  const facts = infoFields(info)
  const beliefs: MasterBelief[] = []
  for (const name of masterNames) beliefs.push(await askBelief(questions, name, mapAddress))
  await questions.maySubscribe('+switch-master')
  return {
    latencyMs,
    runId: readText(runId) || undefined,
    version: facts.get('redis_version'),
    tilt: facts.has('sentinel_tilt') ? facts.get('sentinel_tilt') !== '0' : undefined,
    beliefs,
    denied: questions.denied,
  }
}

async function askBelief(
  questions: Questions,
  masterName: string,
  mapAddress: (address: Address) => Address,
): Promise<MasterBelief> {
  const replies = await questions.ask(
    PER_MASTER.map((word) => ({ words: ['SENTINEL', word, masterName], label: `SENTINEL ${word}` })),
  )
  const announced = replies[0] === undefined ? undefined : readMasterAddress(replies[0])
  const fields = readFields(replies[1])
  const number = (name: string) => numberOf(fields?.get(name))
  return {
    masterName,
    address: announced ? mapAddress(announced) : announced,
    announced: announced ?? undefined,
    configEpoch: number('config-epoch'),
    flags: flagsOf(fields),
    quorum: number('quorum'),
    downAfterMs: number('down-after-milliseconds'),
    failoverTimeoutMs: number('failover-timeout'),
    quorumCheck: announced
      ? await questions.askText(['SENTINEL', 'CKQUORUM', masterName], 'SENTINEL CKQUORUM')
      : undefined,
    peers: eachInstance(replies[2], (at, peer): PeerReport => {
      return { address: at, runId: peer.get('runid') || undefined, flags: flagsOf(peer) }
    }),
    replicas: eachInstance(replies[3], (at, replica): ReplicaBelief => {
      return { address: at, flags: flagsOf(replica), priority: numberOf(replica.get('slave-priority')) }
    }),
  }
}

type Fields = ReadonlyMap<string, string>

function eachInstance<T>(reply: unknown, read: (address: Address, fields: Fields) => T): readonly T[] | undefined {
  if (!Array.isArray(reply)) return undefined
  return reply.flatMap((entry: unknown) => {
    const fields = readFields(entry)
    const address = readAddress(fields?.get('ip'), fields?.get('port'))
    return fields === undefined || address === undefined ? [] : [read(address, fields)]
  })
}

function flagsOf(fields: Fields | undefined): readonly string[] {
  return (fields?.get('flags') ?? '').split(',').filter(Boolean)
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined
}
