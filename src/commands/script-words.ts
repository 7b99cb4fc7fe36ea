import type { RedisArgument } from '../redis-client.js'
import type { Call } from './plan.js'
import { type ScriptTexts, withText } from './script-texts.js'

/**
 * The words of a batch's commands for one shard. The first use of a script goes with its whole text, later ones by its
 * hash, so that NOSCRIPT cannot happen in the middle and nothing of the batch ever needs to be sent twice.
 */
export class ScriptWords {
  readonly #known: ScriptTexts
  readonly #sent = new Set<string>()

  constructor(known: ScriptTexts) {
    this.#known = known
  }

  /** `words` are the call's, or one shard's part of them. */
  wordsOf(call: Call, words: readonly RedisArgument[]): readonly RedisArgument[] {
    if (!call.profile.name.startsWith('EVALSHA')) return words
    const text = call.script ?? this.#known.textOf(words[1])
    if (text === undefined) return words
    const sha1 = String(words[1]).toLowerCase()
    if (this.#sent.has(sha1)) return words
    this.#sent.add(sha1)
    return withText(words, text) ?? words
  }
}
