import type { RingChoice } from '../index.js'

/**
 * The part of a key that decided its place, where that is not the whole key: what lies in the hash tag. Undefined where the
 * whole key counts, and for rings of one's own. For people to understand an answer; the ring itself does not use it.
 */
export function deciding(key: string, ring: RingChoice | undefined): string | undefined {
  const tag = find(key, ring)
  return tag === key ? undefined : tag
}

type Loose = Readonly<Record<string, unknown>>

function find(key: string, ring: RingChoice | undefined): string | undefined {
  if (typeof ring === 'function') return undefined
  const options: Loose = { ...ring }
  switch (options.preset ?? (options.hash === undefined ? 'murmur3' : 'own')) {
    case 'murmur3':
    case 'predis':
    case 'go-redis':
    case 'slots':
      return between(key, '{', '}')
    case 'own':
      return options.hashTags === true ? between(key, '{', '}') : undefined
    case 'phpredis':
      return /\{([^}]*)\}/.exec(key)?.[1]
    case 'twemproxy':
    case 'ketama':
    case 'modula': {
      const [open, close] = typeof options.hashTag === 'string' ? options.hashTag : ''
      return open === undefined || close === undefined ? undefined : between(key, open, close)
    }
    case 'redis-rb':
      return byPattern(key, options.tag ?? '^\\{(.+?)\\}')
    case 'jedis':
    case 'jedis-md5':
    case 'jedis-legacy':
      return options.tag === undefined ? undefined : byPattern(key, options.tag)
    default:
      return undefined
  }
}

/** Redis Cluster's rule: the first opening and the first closing after it, if anything is between. */
function between(key: string, open: string, close: string): string | undefined {
  const from = key.indexOf(open)
  const to = from < 0 ? -1 : key.indexOf(close, from + 1)
  return to > from + 1 ? key.slice(from + 1, to) : undefined
}

function byPattern(key: string, pattern: unknown): string | undefined {
  try {
    return new RegExp(pattern as string | RegExp, 'u').exec(key)?.[1]
  } catch {
    // A pattern of another language that JavaScript does not read; the ring translates it, this answer does without.
    return undefined
  }
}
