import { InvalidOptionsError } from '../errors.js'
import { encodeText, span } from './key-bytes.js'
import { translatePattern } from './patterns.js'

/**
 * Which part of a key is hashed. A rule leaves it in `span`; `id` names the rule in fingerprints, and two rings whose rule
 * and hash have the same names hash every key alike.
 */
export interface KeyRule {
  readonly id: string
  text(key: string): void
  bytes(key: Uint8Array): void
}

/** Narrows the `span` that holds the whole key. */
type Narrow = () => void

/** A rule on the bytes of the key, which treats a string as its UTF-8. */
function byteRule(id: string, narrow: Narrow): KeyRule {
  return {
    id,
    text(key) {
      encodeText(key)
      narrow()
    },
    bytes(key) {
      takeBytes(key)
      narrow()
    },
  }
}

/** The whole key as it is. */
export function takeBytes(key: Uint8Array): void {
  span.bytes = key
  span.start = 0
  span.end = key.length
}

/** No tags: the whole key is hashed. */
export const wholeKey: KeyRule = byteRule('whole', () => {})

/**
 * Redis Cluster's rule, also that of predis, go-redis and our own ring: what lies between the first `{` and the first `}`
 * after it, if there is at least one byte; else the whole key, without a second try.
 */
export const bracesTag: KeyRule = pairTag('{}', 0x7b, 0x7d)

/** The same with two bytes of choice, which may be equal (twemproxy's `hash_tag`). */
export function pairTag(id: string, open: number, close: number): KeyRule {
  return byteRule(id, () => {
    const { bytes, end } = span
    const from = find(bytes, open, span.start, end)
    if (from < 0) return
    const to = find(bytes, close, from + 1, end)
    if (to <= from + 1) return
    span.start = from + 1
    span.end = to
  })
}

/** phpredis: the first `{` and the first `}` after it, even with nothing between them; the search ends at the first NUL. */
export const phpTag: KeyRule = byteRule('php{}', () => {
  const { bytes } = span
  const nul = find(bytes, 0, span.start, span.end)
  const end = nul < 0 ? span.end : nul
  const from = find(bytes, 0x7b, span.start, end)
  if (from < 0) return
  const to = find(bytes, 0x7d, from + 1, end)
  if (to < 0) return
  span.start = from + 1
  span.end = to
})

/** Like `indexOf` up to `end`, which the key's bytes may not fill. */
function find(bytes: Uint8Array, byte: number, from: number, end: number): number {
  for (let i = from; i < end; i++) if (bytes[i] === byte) return i
  return -1
}

/**
 * Jedis: group 1 of the first match anywhere in a string, else the whole string; bytes are never tagged. Java encodes a lone
 * surrogate as `?`.
 * @param pattern a Java pattern; undefined where none was set
 */
export function javaTag(pattern: string | undefined): KeyRule {
  const lone = 'question'
  if (pattern === undefined) return { id: 'whole(java)', text: (key) => encodeText(key, lone), bytes: takeBytes }
  const regex = translatePattern(pattern, 'java', 'ring.tag', 'u')
  return {
    id: `java/${pattern}/`,
    text(key) {
      const found = regex.exec(key)
      if (found === null) {
        encodeText(key, lone)
        return
      }
      const tag = found[1]
      if (tag === undefined) {
        throw new InvalidOptionsError(
          'ring.tag',
          `ring.tag '${pattern}' matched a key without its group 1; Jedis fails`,
        )
      }
      encodeText(tag, lone)
    },
    bytes: takeBytes,
  }
}

/**
 * redis-rb: group 1 of the first match, else the whole key; on bytes the pattern sees bytes.
 * @param pattern a Ruby pattern of ASCII characters
 */
export function rubyTag(pattern: string): KeyRule {
  for (const char of pattern) {
    if (char > '\x7f')
      throw new InvalidOptionsError('ring.tag', 'ring.tag must be of ASCII characters, to fit bytes too')
  }
  const regex = translatePattern(pattern, 'ruby', 'ring.tag', 'u')
  const byteRegex = translatePattern(pattern, 'ruby', 'ring.tag', 'du')
  return {
    id: `ruby/${pattern}/`,
    text: (key) => encodeText(regex.exec(key)?.[1] ?? key),
    bytes(key) {
      takeBytes(key)
      const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
      const place = byteRegex.exec(text)?.indices?.[1]
      if (place === undefined) return
      span.start = place[0]
      span.end = place[1]
    },
  }
}
