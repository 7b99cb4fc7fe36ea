import { isIP } from 'node:net'

/** Where a server listens. `host` is a name, an IPv4 or a bare IPv6 address (no brackets). */
export interface Address {
  readonly host: string
  readonly port: number
}

/** `host:port`, with brackets round an IPv6 host: for people, logs and errors. `parseAddress` reads it back. */
export function formatAddress(address: Address): string {
  return isIP(address.host) === 6 ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}

/**
 * One spelling per server, to compare by: host names in lower case without the final dot, IPv6 in its shortest form,
 * IPv4 mapped into IPv6 as IPv4. Two addresses are the same server when their keys are equal; nothing is looked up.
 */
export function addressKey(address: Address): string {
  return `${normalizeHost(address.host)}|${address.port}`
}

export function sameAddress(a: Address, b: Address): boolean {
  return a.port === b.port && (a.host === b.host || normalizeHost(a.host) === normalizeHost(b.host))
}

export function normalizeHost(host: string): string {
  if (isIP(host) === 6) {
    // The WHATWG URL parser holds the one correct IPv6 shortener that Node ships.
    const short = new URL(`redis://[${host.split('%')[0]}]`).hostname.slice(1, -1)
    const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short)
    if (!mapped) return short
    const high = Number.parseInt(mapped[1]!, 16)
    const low = Number.parseInt(mapped[2]!, 16)
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
  }
  const lower = host.toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}

export function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65536
}

/**
 * Reads `host:port`, `[v6]:port`, `v6:port` is refused unless bracketed, a bare host takes `defaultPort`.
 * Returns undefined where the text is no address, so that the caller can say which option it came from.
 */
export function parseAddress(text: string, defaultPort: number): Address | undefined {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text)
  if (bracketed) {
    const host = bracketed[1]!
    return isIP(host) === 6 ? withPort(host, bracketed[2], defaultPort) : undefined
  }
  if (isIP(text) === 6) return { host: text, port: defaultPort }
  const plain = /^([^\s:[\]/]+)(?::(\d+))?$/.exec(text)
  return plain ? withPort(plain[1]!, plain[2], defaultPort) : undefined
}

function withPort(host: string, digits: string | undefined, defaultPort: number): Address | undefined {
  const port = digits === undefined ? defaultPort : Number(digits)
  return isPort(port) ? { host, port } : undefined
}
