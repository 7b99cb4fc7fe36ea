import { nearest } from '../index.js'

/** The command line is wrong, or a file it names is: told in one sentence, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A word that is none of the known ones, with the one that was most likely meant. */
export function unknownWord(kind: string, word: string, known: readonly string[], shown = word): UsageError {
  const near = nearest(word, known)
  const prefix = shown.slice(0, shown.length - word.length)
  const hint =
    near === undefined ? `known are ${known.map((k) => prefix + k).join(', ')}` : `did you mean '${prefix}${near}'?`
  return new UsageError(`there is no ${kind} '${shown}'; ${hint}`)
}
