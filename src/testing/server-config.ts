import type { ConfigLines, Login, TopologySettings } from './topology-options.js'

/** The user of the topology's own on every server that has a password or users: tests may change all others. */
export const ADMIN = 'local-topology'

export interface TlsFiles {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** What is the same for all servers of one topology. */
export interface ConfigContext {
  readonly settings: TopologySettings
  readonly adminPassword: string
  readonly tlsFiles?: TlsFiles | undefined
}

type Line = readonly (string | number)[]

/** The text of a redis.conf. `masterPort` is there on replicas. */
export function dataConfig(
  { settings, adminPassword, tlsFiles }: ConfigContext,
  node: { port: number; masterPort?: number | undefined },
): string {
  const { host, hostname, tls } = settings
  const lines: Line[] = [
    ['bind', host],
    ...(tls.data ? [['port', 0] as const, ['tls-port', node.port] as const] : [['port', node.port] as const]),
    ['protected-mode', 'no'],
    ['save', ''],
    ['appendonly', 'no'],
    // By way of a file a new replica follows its master at once. Without, the master first waits 5 s for others to join, and
    // then up to 1 s for a sign of life, during which its writes do not reach a replica that already says 'connected'.
    ['repl-diskless-sync', 'no'],
    ...tlsLines(settings, tlsFiles, tls.data),
    ...accessLines(settings.password, settings.acl, adminPassword),
  ]
  if (hasUsers(settings.password, settings.acl)) lines.push(['masteruser', ADMIN], ['masterauth', adminPassword])
  if (hostname) lines.push(['replica-announce-ip', hostname])
  if (node.masterPort !== undefined) lines.push(['replicaof', hostname ?? host, node.masterPort])
  return render([...lines, ...extraLines(settings.dataConfig)])
}

/**
 * The text of a sentinel.conf. `peerPort` is there when only one of sentinels and data nodes speaks TLS: Sentinel uses
 * one kind of link to both, so peers then need a door of the other kind than clients.
 */
export function sentinelConfig(
  { settings, adminPassword, tlsFiles }: ConfigContext,
  node: { port: number; peerPort?: number | undefined },
  masters: readonly { name: string; port: number }[],
): string {
  const { host, hostname, tls } = settings
  const lines: Line[] = [
    ['bind', host],
    ...doors(tls.sentinels, node.port, node.peerPort),
    ['protected-mode', 'no'],
    ...tlsLines(settings, tlsFiles, tls.data),
    ...accessLines(settings.sentinelPassword, settings.sentinelAcl, adminPassword),
  ]
  if (hasUsers(settings.sentinelPassword, settings.sentinelAcl)) {
    lines.push(['sentinel', 'sentinel-user', ADMIN], ['sentinel', 'sentinel-pass', adminPassword])
  }
  if (hostname) {
    lines.push(['sentinel', 'resolve-hostnames', 'yes'], ['sentinel', 'announce-hostnames', 'yes'])
    lines.push(['sentinel', 'announce-ip', hostname])
  }
  lines.push(...extraLines(settings.sentinelConfig))
  for (const { name, port } of masters) {
    lines.push(
      ['sentinel', 'monitor', name, hostname ?? host, port, settings.quorum],
      ['sentinel', 'down-after-milliseconds', name, settings.downAfterMs],
      ['sentinel', 'failover-timeout', name, settings.failoverTimeoutMs],
      ['sentinel', 'parallel-syncs', name, 1],
    )
    const login = dataLogin(settings, adminPassword)
    if (login)
      lines.push(['sentinel', 'auth-user', name, login.username], ['sentinel', 'auth-pass', name, login.password])
  }
  return render(lines)
}

export function hasUsers(password: string | undefined, acl: readonly string[]): boolean {
  return password !== undefined || acl.length > 0
}

function dataLogin(settings: TopologySettings, adminPassword: string): Login | undefined {
  if (settings.sentinelLogin) return settings.sentinelLogin
  return hasUsers(settings.password, settings.acl) ? { username: ADMIN, password: adminPassword } : undefined
}

function doors(clientTls: boolean, port: number, peerPort: number | undefined): Line[] {
  if (peerPort === undefined)
    return clientTls
      ? [
          ['port', 0],
          ['tls-port', port],
        ]
      : [['port', port]]
  return clientTls
    ? [
        ['port', peerPort],
        ['tls-port', port],
      ]
    : [
        ['port', port],
        ['tls-port', peerPort],
      ]
}

function tlsLines(settings: TopologySettings, files: TlsFiles | undefined, links: boolean): Line[] {
  if (!files) return []
  return [
    ['tls-cert-file', files.certFile],
    ['tls-key-file', files.keyFile],
    ['tls-ca-cert-file', files.caFile],
    ['tls-auth-clients', settings.tls.clientCertificates ? 'yes' : 'no'],
    ['tls-replication', links ? 'yes' : 'no'],
  ]
}

function accessLines(password: string | undefined, acl: readonly string[], adminPassword: string): Line[] {
  if (!hasUsers(password, acl)) return []
  const users = [`${ADMIN} on >${adminPassword} ~* &* +@all`, ...acl]
  const lines: Line[] = users.map((user) => ['user', ...user.trim().split(/\s+/)])
  return password === undefined ? lines : [['requirepass', password], ...lines]
}

function extraLines(extra: ConfigLines): Line[] {
  return Object.entries(extra).flatMap(([directive, value]): Line[] =>
    (typeof value === 'object' ? value : [value]).map((one) => [`${directive} ${one}`]),
  )
}

/** One directive a line. A line of one part is taken as it stands; other parts are quoted where they need it. */
function render(lines: readonly Line[]): string {
  return `${lines.map((line) => (line.length === 1 ? line[0] : line.map(quote).join(' '))).join('\n')}\n`
}

function quote(part: string | number): string {
  const text = String(part)
  return /^[^\s"'\\#]+$/.test(text) ? text : JSON.stringify(text)
}
