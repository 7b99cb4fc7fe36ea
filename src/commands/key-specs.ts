import type { RedisArgument } from '../redis-client.js'

/**
 * A key specification of Redis: where to begin, and how the keys go on from there. The generated table holds them in
 * few letters:
 *
 *     1:0:1        begin at word 1; one key                       (GET)
 *     1:-1:2       begin at word 1; every second word to the end  (MSET)
 *     3:-2:1       … to the last but one                           (BLPOP)
 *     STREAMS@1:-1:1:2   after the word STREAMS, searched from word 1; half of what follows   (XREAD)
 *     KEYS@-2:-1:1       after the word KEYS, searched backwards from the last but one        (MIGRATE)
 *     2#0:1:1      word 2 holds the number of keys, the first follows (EVAL)
 *     ?            only the server can tell                        (SORT … STORE)
 */
export interface KeySpec {
  readonly begin: { readonly index: number } | { readonly keyword: string; readonly from: number }
  readonly find:
    | { readonly last: number; readonly step: number; readonly limit: number }
    | { readonly numberAt: number; readonly first: number; readonly step: number }
}

const FORM = /^(?:(-?\d+)|(.+)@(-?\d+))(?::(-?\d+):(\d+)(?::(\d+))?|#(\d+):(\d+):(\d+))$/

/** Undefined for `?`. */
export function readKeySpec(text: string): KeySpec | undefined {
  const m = FORM.exec(text)
  if (m === null) return undefined
  const [, index, keyword, from, last, step, limit, numberAt, first, numberStep] = m
  return {
    begin: index !== undefined ? { index: Number(index) } : { keyword: keyword!, from: Number(from) },
    find:
      last !== undefined
        ? { last: Number(last), step: Number(step), limit: Number(limit ?? 0) }
        : { numberAt: Number(numberAt), first: Number(first), step: Number(numberStep) },
  }
}

/** The places of the keys in a command's words by one specification; none where the words do not fit it. */
export function keyPlaces(spec: KeySpec, words: readonly RedisArgument[]): number[] {
  const begin = 'index' in spec.begin ? spec.begin.index : afterKeyword(spec.begin.keyword, spec.begin.from, words)
  if (begin === undefined || begin >= words.length) return []
  const { find } = spec
  if ('numberAt' in find) {
    const count = Number(words[begin + find.numberAt])
    if (!Number.isInteger(count) || count < 0) return []
    return placesUpTo(begin + find.first, find.step, begin + find.first + (count - 1) * find.step, words.length)
  }
  // A negative last key counts from the end; with a limit only that part of the rest (a half, a third…) holds keys.
  let last = find.last >= 0 ? begin + find.last : words.length + find.last
  if (find.limit >= 2) last = begin + Math.floor((last - begin + 1) / find.limit) - 1
  return placesUpTo(begin, find.step, last, words.length)
}

function placesUpTo(first: number, step: number, last: number, length: number): number[] {
  const places: number[] = []
  for (let at = first; at <= last && at < length; at += step) places.push(at)
  return places
}

function afterKeyword(keyword: string, from: number, words: readonly RedisArgument[]): number | undefined {
  const matches = (at: number) => String(words[at]).toUpperCase() === keyword
  if (from >= 0) {
    for (let at = from; at < words.length; at++) if (matches(at)) return at + 1
    return undefined
  }
  for (let at = words.length + from; at > 0; at--) if (matches(at)) return at + 1
  return undefined
}
