import type { Reply } from './resp-parser.js'

/** ROLE, read. */
export type NodeRole =
  | { readonly role: 'master'; readonly offset: number; readonly replicas: readonly number[] }
  | {
      readonly role: 'slave'
      readonly masterPort: number
      /** `'connected'` when replication runs; else `'connect'`, `'connecting'`, `'handshake'`, `'sync'`. */
      readonly link: string
      readonly offset: number
    }
  | { readonly role: 'sentinel'; readonly masters: readonly string[] }

/** Reads the answer to ROLE. Ports stand for nodes: within a topology each is used once. Throws on anything else. */
export function parseRole(reply: Reply): NodeRole {
  if (Array.isArray(reply)) {
    const [role, second, third, fourth, fifth] = reply
    if (role === 'master') return { role, offset: Number(second), replicas: list(third).map((r) => Number(list(r)[1])) }
    if (role === 'slave') return { role, masterPort: Number(third), link: String(fourth), offset: Number(fifth) }
    if (role === 'sentinel') return { role, masters: list(second).map(String) }
  }
  throw new TypeError(`not an answer to ROLE: ${JSON.stringify(reply)}`)
}

function list(reply: Reply | undefined): Reply[] {
  return Array.isArray(reply) ? reply : []
}
