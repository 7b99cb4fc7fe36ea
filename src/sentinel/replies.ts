import { type Address, isPort } from '../address.js'

/**
 * Pure readers of what sentinels and data nodes say. Each takes `unknown`, because a proxy, an older server or a liar may
 * answer anything, and returns undefined where the words make no sense; none ever throws. Texts come as strings or bytes,
 * field lists flat (RESP2), as objects or as Maps (RESP3).
 */

/** What ROLE, or the replication section of INFO, says of a node. */
export type Role =
  | { readonly role: 'master'; readonly replicas: readonly Address[]; readonly offset: number | undefined }
  | {
      readonly role: 'slave'
      readonly master: Address | undefined
      /** `connect`, `connecting`, `sync` or `connected`; only the last one serves fresh data. */
      readonly link: string
      readonly offset: number | undefined
    }
  | { readonly role: 'sentinel'; readonly masterNames: readonly string[] }

/** One master, replica or sentinel as SENTINEL MASTER / REPLICAS / SENTINELS describe it. Unmapped. */
export interface InstanceInfo {
  readonly address: Address
  readonly runId: string | undefined
  readonly flags: ReadonlySet<string>
  readonly configEpoch: number | undefined
  /** Of a replica only: `ok` or `err`. */
  readonly masterLinkStatus: string | undefined
  /** Of a replica only: the master it follows. */
  readonly master: Address | undefined
}

/** `+switch-master`. Unmapped. */
export interface SwitchMessage {
  readonly masterName: string
  readonly from: Address
  readonly to: Address
}

/** The subject of most other messages: `<type> <name> <ip> <port> [@ <master> <ip> <port>] [rest]`. Unmapped. */
export interface InstanceMessage {
  readonly type: string
  /** The master's name; for a replica `ip:port`; for a sentinel its run id. */
  readonly name: string
  readonly address: Address
  /** The master concerned, which is the subject itself where no `@` follows. */
  readonly masterName: string
  readonly masterAddress: Address
  readonly rest: string
}

/** A text reply, or undefined. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
  if (value instanceof String) return value.toString()
  return undefined
}

function readNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number(value)
  const text = readText(value)
  return text !== undefined && /^-?\d{1,19}$/.test(text) ? Number(text) : undefined
}

/** A host and a port, whatever their wire types; undefined where either makes no sense. */
export function readAddress(host: unknown, port: unknown): Address | undefined {
  const name = readText(host)
  const number = readNumber(port)
  if (name === undefined || !/^[^\s]+$/.test(name) || !isPort(number)) return undefined
  return { host: name, port: number }
}

/** SENTINEL GET-MASTER-ADDR-BY-NAME: the address, null for "I know no such master", undefined for nonsense. */
export function readMasterAddress(reply: unknown): Address | null | undefined {
  if (reply === null) return null
  return Array.isArray(reply) && reply.length >= 2 ? readAddress(reply[0], reply[1]) : undefined
}

/** ROLE of a data node or a sentinel. */
export function readRole(reply: unknown): Role | undefined {
  if (!Array.isArray(reply)) return undefined
  const list: readonly unknown[] = reply
  switch (readText(list[0])) {
    case 'master':
      return {
        role: 'master',
        replicas: eachOf(list[2], (r) => (Array.isArray(r) ? readAddress(r[0], r[1]) : undefined)),
        offset: readNumber(list[1]),
      }
    case 'slave':
    case 'replica':
      return {
        role: 'slave',
        master: readAddress(list[1], list[2]),
        link: readText(list[3]) ?? 'unknown',
        offset: readNumber(list[4]),
      }
    case 'sentinel':
      return { role: 'sentinel', masterNames: eachOf(list[1], readText) }
    default:
      return undefined
  }
}

/** INFO replication, for nodes whose ACL denies ROLE. */
export function readInfoReplication(reply: unknown): Role | undefined {
  const text = readText(reply)
  if (text === undefined) return undefined
  const fields = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const role = fields.get('role')
  if (role === 'master') {
    const replicas: Address[] = []
    for (const [name, value] of fields) {
      const replica = /^slave\d+$/.test(name) ? /^ip=([^,]*),port=(\d+)/.exec(value) : null
      const address = replica ? readAddress(replica[1], replica[2]) : undefined
      if (address !== undefined) replicas.push(address)
    }
    return { role: 'master', replicas, offset: readNumber(fields.get('master_repl_offset')) }
  }
  if (role !== 'slave' && role !== 'replica') return undefined
  const up = fields.get('master_link_status') === 'up' && fields.get('master_sync_in_progress') !== '1'
  return {
    role: 'slave',
    master: readAddress(fields.get('master_host'), fields.get('master_port')),
    link: up ? 'connected' : 'connect',
    offset: readNumber(fields.get('slave_repl_offset')),
  }
}

/** One field list, as flat array, object or Map. */
export function readFields(reply: unknown): ReadonlyMap<string, string> | undefined {
  let pairs: Iterable<readonly [unknown, unknown]>
  if (Array.isArray(reply)) {
    const list: readonly unknown[] = reply
    if (list.length % 2 !== 0) return undefined
    pairs = Array.from({ length: list.length / 2 }, (_, i) => [list[i * 2], list[i * 2 + 1]] as const)
  } else if (reply instanceof Map) {
    pairs = reply
  } else if (typeof reply === 'object' && reply !== null && !(reply instanceof Uint8Array)) {
    pairs = Object.entries(reply)
  } else {
    return undefined
  }
  const fields = new Map<string, string>()
  for (const [key, value] of pairs) {
    const name = readText(key)
    const text = readText(value) ?? readNumber(value)?.toString()
    if (name !== undefined && text !== undefined) fields.set(name, text)
  }
  return fields
}

/** SENTINEL MASTER, or one entry of SENTINEL REPLICAS / SENTINELS. */
export function readInstance(reply: unknown): InstanceInfo | undefined {
  const fields = readFields(reply)
  const address = readAddress(fields?.get('ip'), fields?.get('port'))
  if (fields === undefined || address === undefined) return undefined
  const epoch = readNumber(fields.get('config-epoch'))
  return {
    address,
    // A sentinel that was never reached has an empty run id.
    runId: fields.get('runid') || undefined,
    flags: new Set((fields.get('flags') ?? '').split(',').filter(Boolean)),
    configEpoch: epoch !== undefined && epoch >= 0 ? epoch : undefined,
    masterLinkStatus: fields.get('master-link-status'),
    master: readAddress(fields.get('master-host'), fields.get('master-port')),
  }
}

/** SENTINEL REPLICAS or SENTINEL SENTINELS; entries that make no sense are left out. */
export function readInstances(reply: unknown): readonly InstanceInfo[] | undefined {
  return Array.isArray(reply) ? eachOf(reply, readInstance) : undefined
}

/** The message of `+switch-master`: `name old-host old-port new-host new-port`. */
export function readSwitchMessage(message: unknown): SwitchMessage | undefined {
  const words = readText(message)?.split(' ')
  if (words === undefined || words.length !== 5 || words[0] === '') return undefined
  const from = readAddress(words[1], words[2])
  const to = readAddress(words[3], words[4])
  return from && to ? { masterName: words[0]!, from, to } : undefined
}

const instanceTypes: ReadonlySet<string> = new Set(['master', 'slave', 'replica', 'sentinel'])

/** The messages that describe an instance. IPv6 hosts need no care: the words are parted by blanks. */
export function readInstanceMessage(message: unknown): InstanceMessage | undefined {
  const words = readText(message)?.split(' ')
  if (words === undefined || words.length < 4) return undefined
  const [type, name] = words
  const address = readAddress(words[2], words[3])
  if (type === undefined || !instanceTypes.has(type) || !name || address === undefined) return undefined
  if (words[4] !== '@') {
    if (type !== 'master') return undefined
    return { type, name, address, masterName: name, masterAddress: address, rest: words.slice(4).join(' ') }
  }
  const masterAddress = readAddress(words[6], words[7])
  if (!words[5] || masterAddress === undefined) return undefined
  return { type, name, address, masterName: words[5], masterAddress, rest: words.slice(8).join(' ') }
}

function eachOf<T>(list: unknown, read: (entry: unknown) => T | undefined): T[] {
  if (!Array.isArray(list)) return []
  const out: T[] = []
  for (const entry of list as readonly unknown[]) {
    const value = read(entry)
    if (value !== undefined) out.push(value)
  }
  return out
}
