/** The word of `known` that `word` was most likely meant to be, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = plain(word)
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(wanted.length / 2)) + 1
  for (const candidate of known) {
    const distance = edits(wanted, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `; did you mean 'x'?`, or the whole list where nothing is near. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? `; known are ${known.map((k) => `'${k}'`).join(', ')}` : `; did you mean '${near}'?`
}

/** Case and separators are what people get wrong first: `vnode count`, `vnodeCount`, `VNODE_COUNT`. */
function plain(word: string): string {
  return word
    .slice(0, 64)
    .toLowerCase()
    .replace(/[\s_-]/g, '')
}

/** Levenshtein distance: how many letters to put in, take out or change. */
export function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
