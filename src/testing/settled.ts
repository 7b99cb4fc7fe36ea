import type { Reply } from './resp-parser.js'

/** One instance as `SENTINEL MASTER / REPLICAS / SENTINELS` lists it: field -> value. */
export type Instance = Readonly<Record<string, string>>

/** What one sentinel says of one master. */
export interface SentinelView {
  readonly sentinel: string
  readonly name: string
  readonly master: Instance
  readonly replicas: readonly Instance[]
  readonly sentinels: readonly Instance[]
}

/** What should be there, by port: within a topology a port stands for its node. */
export interface Expected {
  readonly master: number
  /** Data nodes of the shard that run, the master left out. */
  readonly replicas: readonly number[]
  /** The other sentinels that run. */
  readonly sentinels: readonly number[]
}

/** Reads a flat list of fields and values, the way RESP2 sends a map. */
export function parseInstance(reply: Reply | undefined): Instance {
  const fields: Record<string, string> = {}
  if (!Array.isArray(reply)) return fields
  for (let i = 0; i + 1 < reply.length; i += 2) fields[String(reply[i])] = String(reply[i + 1])
  return fields
}

export function parseInstances(reply: Reply | undefined): Instance[] {
  return Array.isArray(reply) ? reply.map(parseInstance) : []
}

/** What keeps this sentinel's view of this master from being settled, one sentence each; empty when nothing does. */
export function unsettled(view: SentinelView, expected: Expected): string[] {
  const missing: string[] = []
  const say = (text: string) => missing.push(`${view.sentinel} on ${view.name}: ${text}`)
  if (Number(view.master.port) !== expected.master) say(`master is :${view.master.port}, not :${expected.master}`)
  if (view.master.flags !== 'master') say(`master flags ${view.master.flags}`)
  for (const port of expected.replicas) {
    const replica = byPort(view.replicas, port)
    if (!replica) say(`does not know replica :${port}`)
    else if (replica.flags !== 'slave') say(`replica :${port} flags ${replica.flags}`)
    else if (replica['master-link-status'] !== 'ok') say(`replica :${port} link ${replica['master-link-status']}`)
    else if (Number(replica['master-port']) !== expected.master) say(`replica :${port} of :${replica['master-port']}`)
  }
  for (const port of expected.sentinels) {
    const peer = byPort(view.sentinels, port)
    if (!peer) say(`does not know sentinel :${port}`)
    // What a peer said of the last master's failure is remembered 5 s longer than it matters.
    else if (peer.flags?.replace(',master_down', '') !== 'sentinel') say(`sentinel :${port} flags ${peer.flags}`)
  }
  return missing
}

function byPort(instances: readonly Instance[], port: number): Instance | undefined {
  return instances.find((instance) => Number(instance.port) === port)
}
