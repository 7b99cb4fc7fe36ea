import type { CommandParser, RedisArgument } from '../redis-client.js'

/**
 * Collects the words and the keys of one command: what node-redis's command definitions write to. It stands in for
 * node-redis's own parser, and is lighter, because it is made once per call: a single key costs no array, and the words of
 * a short command lie in fields until somebody reads them, so that their array is made once and no longer than they are
 * (one that grows by `push` has room for 17 at once, and is alive for as long as the call).
 */
export class ArgumentParser implements CommandParser {
  /** The first key with its prefix, as it goes on the wire. */
  firstKey: RedisArgument | undefined = undefined
  keyCount = 0
  preserve: unknown = undefined
  #count = 0
  #first: RedisArgument | undefined = undefined
  #second: RedisArgument | undefined = undefined
  #third: RedisArgument | undefined = undefined
  /** All words, once it is there. */
  #words: RedisArgument[] | undefined = undefined
  #otherKeys: RedisArgument[] | undefined = undefined
  readonly #prefix: RedisArgument | undefined

  constructor(prefix: RedisArgument | undefined) {
    this.#prefix = prefix
  }

  /** The words so far. What is pushed later comes into the same array. */
  get redisArgs(): RedisArgument[] {
    this.#words ??= this.#few()
    return this.#words
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
    for (let i = 0; i < words.length; i++) this.#add(words[i]!)
  }

  pushVariadic(words: RedisArgument | RedisArgument[]): void {
    if (Array.isArray(words)) for (const word of words) this.#add(word)
    else this.#add(words)
  }

  pushVariadicWithLength(words: RedisArgument | RedisArgument[]): void {
    this.#add(Array.isArray(words) ? words.length.toString() : '1')
    this.pushVariadic(words)
  }

  pushVariadicNumber(numbers: number | number[]): void {
    if (Array.isArray(numbers)) for (const number of numbers) this.#add(number.toString())
    else this.#add(numbers.toString())
  }

  pushKey(key: RedisArgument, applyPrefix = true): void {
    const whole = this.#prefix === undefined || !applyPrefix ? key : prefixKey(this.#prefix, key)
    this.#add(whole)
    this.#noteKey(whole)
  }

  pushKeys(keys: RedisArgument | RedisArgument[]): void {
    if (Array.isArray(keys)) for (const key of keys) this.pushKey(key)
    else this.pushKey(keys)
  }

  pushKeysLength(keys: RedisArgument | RedisArgument[]): void {
    this.#add(Array.isArray(keys) ? keys.length.toString() : '1')
    this.pushKeys(keys)
  }

  markRoutingKey(key: RedisArgument): void {
    this.#noteKey(key)
  }

  #add(word: RedisArgument): void {
    if (this.#words !== undefined) {
      this.#words.push(word)
      return
    }
    switch (this.#count++) {
      case 0:
        this.#first = word
        break
      case 1:
        this.#second = word
        break
      case 2:
        this.#third = word
        break
      default:
        this.#words = [this.#first!, this.#second!, this.#third!, word]
    }
  }

  #few(): RedisArgument[] {
    switch (this.#count) {
      case 0:
        return []
      case 1:
        return [this.#first!]
      case 2:
        return [this.#first!, this.#second!]
      default:
        return [this.#first!, this.#second!, this.#third!]
    }
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
