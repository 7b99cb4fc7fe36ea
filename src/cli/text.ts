// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins every colour
const ESCAPES = /\x1b\[\d+m/g

/** How wide a text stands on a terminal, without its colours. */
export function widthOf(text: string): number {
  return text.replace(ESCAPES, '').length
}

/** Columns as wide as their widest cell, two spaces apart. The last one is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell))
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - widthOf(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Words broken into lines of at most `width`, each after the indent. */
export function wrap(text: string, width: number, indent = ''): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  if (line !== '') lines.push(indent + line)
  return lines.join('\n')
}

export function percent(part: number | undefined): string {
  return part === undefined ? '?' : `${(part * 100).toFixed(1)} %`
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let value = count / 1024
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(1)} ${units[unit]}`
}

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`
