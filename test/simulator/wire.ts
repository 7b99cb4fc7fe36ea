/** What a simulated server may answer; `undefined`: nothing. */
export type Reply = string | number | null | Error | Status | readonly Reply[] | ReadonlyMap<string, Reply>

/** A simple string such as `+OK`. */
export class Status {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export const OK = new Status('OK')
export const QUEUED = new Status('QUEUED')

/** Takes whole commands off the front of `text`. Bytes are latin1 characters, so lengths are right. */
export function takeCommands(text: string): { commands: string[][]; rest: string } {
  const commands: string[][] = []
  let at = 0
  for (;;) {
    const command = readCommand(text, at)
    if (command === undefined) return { commands, rest: text.slice(at) }
    commands.push(command.words)
    at = command.end
  }
}

function readCommand(text: string, start: number): { words: string[]; end: number } | undefined {
  const head = text.indexOf('\r\n', start)
  if (head < 0) return undefined
  const words: string[] = []
  let at = head + 2
  for (let left = Number(text.slice(start + 1, head)); left > 0; left--) {
    const end = text.indexOf('\r\n', at)
    if (end < 0) return undefined
    const length = Number(text.slice(at + 1, end))
    if (text.length < end + 2 + length + 2) return undefined
    words.push(text.slice(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
  return { words, end: at }
}

export function encode(reply: Reply, resp3: boolean): string {
  if (reply === null) return resp3 ? '_\r\n' : '$-1\r\n'
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (typeof reply === 'number') return `:${reply}\r\n`
  if (reply instanceof Status) return `+${reply.text}\r\n`
  if (reply instanceof Error) return `-${reply.message}\r\n`
  if (reply instanceof Map) {
    const flat = [...(reply as ReadonlyMap<string, Reply>)].flat() as Reply[]
    const body = flat.map((one) => encode(one, resp3)).join('')
    return resp3 ? `%${reply.size}\r\n${body}` : `*${flat.length}\r\n${body}`
  }
  const list = reply as readonly Reply[]
  return `*${list.length}\r\n${list.map((one) => encode(one, resp3)).join('')}`
}
