/**
 * The bytes of a key that are hashed, without allocating: strings are encoded into one scratch array, and what to hash is
 * left in `span`. Both are module state on purpose; `locate` is synchronous, so nothing can come between writing and
 * reading them.
 */

/** What is hashed: `bytes[start..end)`. */
export interface Span {
  bytes: Uint8Array
  start: number
  end: number
}

const KEPT_BYTES = 3 * 4096
const scratch = new Uint8Array(KEPT_BYTES)

/** The result of the last key rule that ran. */
export const span: Span = { bytes: scratch, start: 0, end: 0 }

/** What a surrogate without its partner becomes: U+FFFD as Node writes it, or the `?` of Java. */
export type LoneSurrogate = 'replacement' | 'question'

/**
 * Puts the UTF-8 of `text` into `span`. A string of more than 4,096 UTF-16 units gets an array of its own, so that one
 * huge key does not stay in memory.
 */
export function encodeText(text: string, lone: LoneSurrogate = 'replacement'): void {
  const bytes = text.length * 3 <= KEPT_BYTES ? scratch : new Uint8Array(text.length * 3)
  span.bytes = bytes
  span.start = 0
  span.end = writeUtf8(text, bytes, lone)
}

/** UTF-8 of `text` in an array of its own. */
export function utf8(text: string, lone: LoneSurrogate = 'replacement'): Uint8Array {
  const bytes = new Uint8Array(text.length * 3)
  return bytes.slice(0, writeUtf8(text, bytes, lone))
}

function writeUtf8(text: string, bytes: Uint8Array, lone: LoneSurrogate): number {
  const length = text.length
  let at = 0
  for (let i = 0; i < length; i++) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      bytes[at++] = code
    } else if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6)
      bytes[at++] = 0x80 | (code & 63)
    } else {
      if (code >= 0xd800 && code < 0xe000) {
        const next = code < 0xdc00 && i + 1 < length ? text.charCodeAt(i + 1) : 0
        if (next >= 0xdc00 && next < 0xe000) {
          i++
          const point = 0x10000 + ((code & 0x3ff) << 10) + (next & 0x3ff)
          bytes[at++] = 0xf0 | (point >> 18)
          bytes[at++] = 0x80 | ((point >> 12) & 63)
          bytes[at++] = 0x80 | ((point >> 6) & 63)
          bytes[at++] = 0x80 | (point & 63)
          continue
        }
        if (lone === 'question') {
          bytes[at++] = 0x3f
          continue
        }
        code = 0xfffd
      }
      bytes[at++] = 0xe0 | (code >> 12)
      bytes[at++] = 0x80 | ((code >> 6) & 63)
      bytes[at++] = 0x80 | (code & 63)
    }
  }
  return at
}
