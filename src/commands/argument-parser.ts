import type { CommandParser, RedisArgument } from '../redis-client.js'

/**
 * Collects the words and the keys of one command: what node-redis's command definitions write to. It stands in for
 * node-redis's own parser, and is lighter, because it is made once per call: a single key costs no array.
 */
export class ArgumentParser implements CommandParser {
  readonly redisArgs: RedisArgument[] = []
  /** The first key with its prefix, as it goes on the wire. */
  firstKey: RedisArgument | undefined = undefined
  keyCount = 0
  preserve: unknown = undefined
  #otherKeys: RedisArgument[] | undefined = undefined
  readonly #prefix: RedisArgument | undefined

  constructor(prefix: RedisArgument | undefined) {
    this.#prefix = prefix
  }

  /** All keys in the command's order, duplicates kept. */
  get keys(): RedisArgument[] {
    if (this.keyCount === 0) return []
    const rest = this.#otherKeys
    return rest === undefined ? [this.firstKey as RedisArgument] : [this.firstKey as RedisArgument, ...rest]
  }

  /** The keys after the first; undefined when there is at most one. */
  get otherKeys(): readonly RedisArgument[] | undefined {
    return this.#otherKeys
  }

  get commandIdentifier(): { command: string; subcommand: string } {
    return { command: String(this.redisArgs[0]), subcommand: String(this.redisArgs[1]) }
  }

  get cacheKey(): string {
    const lengths = this.redisArgs.map((word) => word.length)
    return [...lengths, ...this.redisArgs].join('_')
  }

  push(...words: RedisArgument[]): void {
    for (let i = 0; i < words.length; i++) this.redisArgs.push(words[i]!)
  }

  pushVariadic(words: RedisArgument | RedisArgument[]): void {
    if (Array.isArray(words)) for (const word of words) this.redisArgs.push(word)
    else this.redisArgs.push(words)
  }

  pushVariadicWithLength(words: RedisArgument | RedisArgument[]): void {
    this.redisArgs.push(Array.isArray(words) ? words.length.toString() : '1')
    this.pushVariadic(words)
  }

  pushVariadicNumber(numbers: number | number[]): void {
    if (Array.isArray(numbers)) for (const number of numbers) this.redisArgs.push(number.toString())
    else this.redisArgs.push(numbers.toString())
  }

  pushKey(key: RedisArgument, applyPrefix = true): void {
    const whole = this.#prefix === undefined || !applyPrefix ? key : prefixKey(this.#prefix, key)
    this.redisArgs.push(whole)
    this.#noteKey(whole)
  }

  pushKeys(keys: RedisArgument | RedisArgument[]): void {
    if (Array.isArray(keys)) for (const key of keys) this.pushKey(key)
    else this.pushKey(keys)
  }

  pushKeysLength(keys: RedisArgument | RedisArgument[]): void {
    this.redisArgs.push(Array.isArray(keys) ? keys.length.toString() : '1')
    this.pushKeys(keys)
  }

  markRoutingKey(key: RedisArgument): void {
    this.#noteKey(key)
  }

  #noteKey(key: RedisArgument): void {
    if (this.keyCount++ === 0) this.firstKey = key
    else if (this.#otherKeys === undefined) this.#otherKeys = [key]
    else this.#otherKeys.push(key)
  }
}

/** `keyPrefix` as node-redis takes it: an empty one is none. */
export function normalizePrefix(prefix: RedisArgument | undefined): RedisArgument | undefined {
  return prefix === undefined || prefix.length === 0 ? undefined : prefix
}

/** The key as it goes on the wire, joined in text where both are text and in bytes otherwise. */
export function prefixKey(prefix: RedisArgument, key: RedisArgument): RedisArgument {
  if (typeof prefix === 'string' && typeof key === 'string') return prefix + key
  return Buffer.concat([
    typeof prefix === 'string' ? Buffer.from(prefix) : prefix,
    typeof key === 'string' ? Buffer.from(key) : key,
  ])
}
