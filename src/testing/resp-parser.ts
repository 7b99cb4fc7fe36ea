/** A server's answer. Error replies inside an array (EXEC) stay values; an error on its own is thrown by `command`. */
export type Reply = string | number | boolean | null | RespError | Reply[]

/** An error reply as a value, such as `ERR …` among the answers of an EXEC. */
export class RespError {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** What `command` takes: text, a number (sent as its digits) or bytes. */
export type CommandArgument = string | number | Uint8Array

const CRLF = Buffer.from('\r\n')

/** One command as the array of bulk strings that servers read. */
export function encodeCommand(args: readonly CommandArgument[]): Buffer {
  const parts: Uint8Array[] = [Buffer.from(`*${args.length}\r\n`)]
  for (const arg of args) {
    const bytes = arg instanceof Uint8Array ? arg : Buffer.from(String(arg))
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, CRLF)
  }
  return Buffer.concat(parts)
}

/** Thrown inside the parser only: the bytes so far end within a reply. `wanted`: how many bytes it takes at least. */
class Incomplete {
  readonly wanted: number
  constructor(wanted: number) {
    this.wanted = wanted
  }
}

/**
 * Reads RESP2 and RESP3 from chunks cut anywhere. Maps and sets come out as flat arrays, pushes as arrays; text is
 * decoded as UTF-8. Reads commands as well, since those are arrays of bulk strings.
 */
export class RespParser {
  #chunks: Buffer[] = []
  #length = 0
  #wanted = 0

  /** True while the bytes so far end in the middle of a reply. */
  get midReply(): boolean {
    return this.#length > 0
  }

  /** Takes the next bytes of the stream and gives the replies that they complete. Throws on what is not RESP. */
  push(chunk: Buffer): Reply[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#wanted) return []
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const reader = new Reader(bytes)
    const replies: Reply[] = []
    let end = 0
    this.#wanted = 0
    try {
      while (reader.offset < bytes.length) {
        replies.push(reader.value())
        end = reader.offset
      }
    } catch (error) {
      if (!(error instanceof Incomplete)) throw error
      this.#wanted = error.wanted - end
    }
    const rest = bytes.subarray(end)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#length = rest.length
    return replies
  }
}

class Reader {
  offset = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  value(): Reply {
    const line = this.#line()
    const rest = line.slice(1)
    switch (line[0]) {
      case '+':
      case '(':
        return rest
      case '-':
        return new RespError(rest)
      case ':':
      case ',':
        return Number(rest)
      case '#':
        return rest === 't'
      case '_':
        return null
      case '$':
        return this.#bulk(Number(rest))
      case '!':
        return new RespError(this.#bulk(Number(rest)) ?? '')
      case '=':
        return (this.#bulk(Number(rest)) ?? '').slice(4)
      case '*':
      case '~':
      case '>':
        return this.#array(Number(rest))
      case '%':
        return this.#array(Number(rest) * 2)
      case '|':
        this.#array(Number(rest) * 2)
        return this.value()
      default:
        throw new SyntaxError(`not a RESP reply: ${JSON.stringify(line.slice(0, 40))}`)
    }
  }

  #line(): string {
    const end = this.#bytes.indexOf(CRLF, this.offset)
    if (end === -1) throw new Incomplete(this.#bytes.length + 1)
    const line = this.#bytes.toString('utf8', this.offset, end)
    this.offset = end + 2
    return line
  }

  #bulk(length: number): string | null {
    if (length < 0) return null
    const end = this.offset + length
    if (end + 2 > this.#bytes.length) throw new Incomplete(end + 2)
    const text = this.#bytes.toString('utf8', this.offset, end)
    this.offset = end + 2
    return text
  }

  #array(length: number): Reply[] | null {
    if (length < 0) return null
    const items: Reply[] = []
    for (let i = 0; i < length; i++) items.push(this.value())
    return items
  }
}
