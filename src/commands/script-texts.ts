import { ErrorReply, type RedisArgument } from '../redis-client.js'

/** Texts kept per pool; the oldest goes first. A program has a few dozen scripts, a leak has thousands. */
const MAX_TEXTS = 1_000

/**
 * The scripts this pool has loaded by SCRIPT LOAD, so that EVALSHA of one of them can heal by itself where a failover
 * brought up a master that has never seen it.
 */
export class ScriptTexts {
  readonly #texts = new Map<string, RedisArgument>()

  remember(sha1: unknown, text: RedisArgument | undefined): void {
    if (text === undefined) return
    this.#texts.set(String(sha1).toLowerCase(), text)
    if (this.#texts.size > MAX_TEXTS) this.#texts.delete(this.#texts.keys().next().value!)
  }

  forgetAll(): void {
    this.#texts.clear()
  }

  textOf(sha1: RedisArgument | undefined): RedisArgument | undefined {
    return sha1 === undefined ? undefined : this.#texts.get(String(sha1).toLowerCase())
  }
}

/** The server does not know the script, so nothing of it has run. */
export function isNoScript(error: unknown): boolean {
  return error instanceof ErrorReply && error.message.startsWith('NOSCRIPT')
}

/** EVALSHA words as EVAL words, the read-only form as the read-only form; undefined for any other command. */
export function withText(words: readonly RedisArgument[], text: RedisArgument): RedisArgument[] | undefined {
  const name = String(words[0]).toUpperCase()
  if (name !== 'EVALSHA' && name !== 'EVALSHA_RO') return undefined
  return [name === 'EVALSHA' ? 'EVAL' : 'EVAL_RO', text, ...words.slice(2)]
}
