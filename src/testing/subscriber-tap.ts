import { type Reply, RespParser } from './resp-parser.js'

/**
 * Listens in on one proxied connection to a sentinel and knows what the client has subscribed to, so that a message can
 * be forged that the client cannot tell from the sentinel's own. (Sentinels themselves refuse PUBLISH on any channel but
 * their own.) Traffic that is not RESP, such as TLS, blinds it: it then forges nothing.
 */
export class SubscriberTap {
  readonly #channels = new Set<string>()
  readonly #patterns = new Set<string>()
  readonly #commands = new RespParser()
  readonly #replies = new RespParser()
  #resp3 = false
  #blind = false

  fromClient(chunk: Buffer): void {
    for (const command of this.#parse(this.#commands, chunk)) this.#note(command)
  }

  fromServer(chunk: Buffer): void {
    this.#parse(this.#replies, chunk)
  }

  /** True when the server's bytes so far end with a whole reply: only then may something be put after them. */
  get atBoundary(): boolean {
    return !this.#replies.midReply
  }

  /** The bytes of a message on the channel as this client expects it; undefined when it has not subscribed to it. */
  forge(channel: string, message: string): Buffer | undefined {
    if (this.#blind) return undefined
    const bytes: Buffer[] = []
    if (this.#channels.has(channel)) bytes.push(this.#encode(['message', channel, message]))
    for (const pattern of this.#patterns) {
      if (matches(pattern, channel)) bytes.push(this.#encode(['pmessage', pattern, channel, message]))
    }
    return bytes.length > 0 ? Buffer.concat(bytes) : undefined
  }

  #parse(parser: RespParser, chunk: Buffer): Reply[] {
    if (this.#blind) return []
    try {
      return parser.push(chunk)
    } catch {
      this.#blind = true
      return []
    }
  }

  #note(command: Reply): void {
    if (!Array.isArray(command)) return
    const [name, ...args] = command.map(String)
    switch (name?.toUpperCase()) {
      case 'HELLO':
        if (args.length > 0) this.#resp3 = args[0] === '3'
        break
      case 'SUBSCRIBE':
        for (const channel of args) this.#channels.add(channel)
        break
      case 'PSUBSCRIBE':
        for (const pattern of args) this.#patterns.add(pattern)
        break
      case 'UNSUBSCRIBE':
        remove(this.#channels, args)
        break
      case 'PUNSUBSCRIBE':
        remove(this.#patterns, args)
    }
  }

  #encode(parts: readonly string[]): Buffer {
    const bulks = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
    return Buffer.from(`${this.#resp3 ? '>' : '*'}${parts.length}\r\n${bulks.join('')}`)
  }
}

function remove(from: Set<string>, names: readonly string[]): void {
  if (names.length === 0) from.clear()
  for (const name of names) from.delete(name)
}

/** Redis's glob, as far as channel names need it: `*` and `?`. */
function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`, 's').test(text)
}
